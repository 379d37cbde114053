#!/bin/sh
# Runs cluster_mpi and the tool under Slurm, with Open MPI and with MPICH. The job scripts are those of
# examples/tool/README.md. Each report must equal that of a single process. Covers jobs over several nodes, a rank that
# is killed, a node that fails, a requeued job with --state, and an array of segments. Skipped if Slurm is missing
# (Debian: slurmctld, slurmd, munge, openmpi-bin, libopenmpi-dev, mpich, libmpich-dev).
#
# The script starts its own munged, slurmctld and three slurmd as the current user. They use the loopback interface and
# a temporary folder. Each node has one processor and 512 MiB. At the end, the script ends all of these processes.
#
#     test/test_slurm.sh BUILD
build=$(cd "${1:-build}" && pwd) || exit 1
readme=$(pwd)/examples/tool/README.md
. "$(dirname "$0")/check.sh"
PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin
nodes='node1 node2 node3'
for program in slurmctld slurmd munged srun sbatch; do
    if ! command -v $program > /dev/null || [ -n "$RUNNER$SANITIZE" ] || [ ! -d /proc/self/fd ]; then
        skip "Slurm (it needs $program, Linux, and no RUNNER or SANITIZE)"
        finish
    fi
done
implementations=
for name in openmpi mpich; do
    if command -v mpicc.$name > /dev/null; then
        implementations="$implementations $name"
        if ! MAKEFLAGS='' make "$build/cluster_$name" BUILD="$build" > "$build/cluster_$name.log" 2>&1; then
            cat "$build/cluster_$name.log"
            check "cluster_$name compiles" false
            finish
        fi
    else
        skip "cluster_mpi with $name (it needs mpicc.$name)"
    fi
done

# ---- the cluster ----

# Socket paths must be short, and munged requires a folder that other users can read.
work=$(mktemp -d "${TMPDIR:-/tmp}/vmafgpu_slurm.XXXXXX") || exit 1
chmod 755 "$work"
work=$(cd "$work" && pwd -P)

# processes: prints the numbers of all processes of this cluster, or of one node. Daemons are recognised by their open
# files, and the processes of a job by their environment.
processes() { # [NODE]
    for process in /proc/[0-9]*; do
        if ls -l "$process/fd" 2> /dev/null | grep -qF -e " -> $work/${1:-}${1:+.log}"; then
            echo "${process#/proc/}"
        elif [ -r "$process/environ" ] && tr '\0' '\n' < "$process/environ" 2> /dev/null |
            grep -xF -e "SLURM_CONF=$work/slurm.conf" ${1:+-e "SLURMD_NODENAME=$1"} |
            grep -c . | grep -qx "$((${1:+1} + 1))"; then
            echo "${process#/proc/}"
        fi
    done 2> /dev/null
}

stop() {
    trap '' INT TERM HUP
    for signal in TERM TERM KILL KILL KILL; do
        left=$(processes | grep -vx "$$")
        [ -n "$left" ] || break
        # shellcheck disable=SC2086
        kill -s $signal $left 2> /dev/null
        sleep 1
    done
    wait
}

clean() {
    stop > /dev/null 2>&1
    rm -rf "$work"
}
trap clean EXIT
trap 'exit 1' INT TERM HUP

port=$((20000 + $$ % 4000 * 4))
host=$(uname -n)
host=${host%%.*}
user=$(id -un)
mkdir -p "$work/state" "$work/spool"
for node in $nodes; do
    mkdir -p "$work/tmp/$node"
done
ln -s "$build" "$work/build"
head -c 1024 /dev/urandom > "$work/munge.key"
chmod 600 "$work/munge.key"
# Virtual nodes need different folders for PMIx (TmpFS). A requeued job waits until cred_expire has passed.
cat > "$work/slurm.conf" << CONF
ClusterName=vmafgpu
SlurmctldHost=$host(127.0.0.1)
SlurmctldPort=$port
CommunicationParameters=NoInAddrAny,NoCtldInAddrAny
SlurmUser=$user
SlurmdUser=$user
AuthType=auth/munge
CredType=cred/munge
AuthInfo=socket=$work/munge.socket,cred_expire=5
StateSaveLocation=$work/state
SlurmdSpoolDir=$work/spool/%n
TmpFS=$work/tmp/%n
SlurmctldPidFile=$work/slurmctld.pid
SlurmdPidFile=$work/%n.pid
SlurmctldLogFile=$work/slurmctld.log
SlurmdLogFile=$work/%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
JobAcctGatherType=jobacct_gather/linux
JobAcctGatherFrequency=1
JobAcctGatherParams=OverMemoryKill
SchedulerParameters=batch_sched_delay=0,sched_min_interval=0
SlurmdParameters=config_overrides
ReturnToService=2
SlurmdTimeout=10
KillWait=2
MpiDefault=none
NodeName=node[1-3] NodeHostname=$host NodeAddr=127.0.0.1 Port=[$((port + 1))-$((port + 3))] CPUs=1 RealMemory=512
PartitionName=all Nodes=ALL Default=YES MaxTime=10 State=UP DefMemPerNode=512
CONF
munged -F --socket="$work/munge.socket" --key-file="$work/munge.key" --log-file="$work/munged.log" \
    --pid-file="$work/munged.pid" --seed-file="$work/munged.seed" > "$work/munged.out" 2>&1 &
export SLURM_CONF="$work/slurm.conf"
cd "$work" || exit 1
slurmctld -D > slurmctld.out 2>&1 &
start_node() {
    slurmd -D -N "$1" > "$1.out" 2>&1 &
}
for node in $nodes; do
    start_node $node
done

# until_true COMMAND...: repeats a command until it succeeds, for up to two minutes
until_true() {
    tries=0
    until "$@" > /dev/null 2>&1; do
        tries=$((tries + 1))
        [ $tries -lt 600 ] || return 1
        sleep 0.2
    done
}
all_idle() {
    [ "$(sinfo -h -o %T)" = idle ]
}
if ! until_true all_idle; then
    sinfo
    tail -n 5 ./*.out
    check 'three nodes are idle' false
    finish
fi

# ---- jobs ----

# script NUMBER: prints a job script of examples/tool/README.md. The options of #SBATCH lines are left out, because the
# nodes are small.
script() {
    awk -v number="$1" '
        /^## /  { on = /Slurm/ }
        /^```/  { inside = !inside; blocks += on && inside; next }
        on && inside && blocks == number && !/^#SBATCH/' "$readme"
}

# field ID NAME: prints a field of a job
field() {
    scontrol show job -o "$1" | tr ' ' '\n' | sed -n "s/^$2=//p" | head -n 1
}
is_ended() {
    case $(field "$1" JobState) in
    COMPLETED | FAILED | CANCELLED | TIMEOUT | NODE_FAIL | OUT_OF_MEMORY) ;;
    *) false ;;
    esac
}
# ended ID STATE RESTARTS: whether a job ends in this state, after this number of restarts
ended() {
    until_true is_ended "$1"
    [ "$(field "$1" JobState)" = "$2" ] && [ "$(field "$1" Restarts)" = "$3" ] && return
    scontrol show job "$1"
    cat "job$1.out"
    false
}
submit() {
    sbatch --parsable --output=job%j.out --open-mode=append "$@"
}
is_equal() { # FILE FILE: whether reports are equal, except for the frames per second
    for file in "$1" "$2"; do
        sed -e 's/^  "fps": [^,]*,/  "fps": ,/' -e 's/<fyi fps="[^"]*"/<fyi fps=""/' "$file" > "$file.masked" ||
            return 1
    done
    cmp -s "$1.masked" "$2.masked"
}

# With plain C code, the jobs run long enough to be interrupted halfway.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 TMPDIR="$work/tmp"
"$build/test/make_clip" texture+mix 640x360 8 420 300 4 reference.y4m distorted.y4m || exit 1
slow='--threads 1 --cpumask 255'
cat > jobs.txt << JOBS
-r reference.y4m -d distorted.y4m --json -o one.json --precision max $slow --from 5 --to 60
-r reference.y4m -d distorted.y4m -o two.xml -m version=vmaf_v0.6.1neg:name=neg --subsample 3 --to 90
JOBS
echo "-r reference.y4m -d distorted.y4m --json -o long.json $slow" > long.txt
# shellcheck disable=SC2086
{
    build/vmafgpu -r reference.y4m -d distorted.y4m --json -o one0.json --precision max $slow --from 5 --to 60 --quiet
    build/vmafgpu -r reference.y4m -d distorted.y4m -o two0.xml -m version=vmaf_v0.6.1neg:name=neg --subsample 3 \
        --to 90 --quiet
    build/vmafgpu -r reference.y4m -d distorted.y4m --json -o long0.json $slow --quiet
}

# cluster_script IMPLEMENTATION LIST: prints the job script for cluster_mpi
cluster_script() {
    script 1 | sed -e "s/cluster_mpi jobs.txt/cluster_$1 $2/"
}
has_part() {
    ls "$work"/tmp/cluster_mpi-*/part0-*-"$1"
}
start_long() { # IMPLEMENTATION: starts a long job on two nodes and waits until it has scored segments
    rm -rf "$work"/tmp/cluster_mpi-* long.json
    cluster_script "$1" 'long.txt --segments 30' | sed "s/--mpi=pmix/$mpi/" > long.sh
    id=$(submit --nodes=2 --requeue long.sh)
    until_true has_part 3 || check "$1: the long job has started" false
}

for name in $implementations; do
    mpi=--mpi=pmix
    [ "$name" = openmpi ] || mpi=--mpi=pmi2
    if ! srun --mpi=list 2>&1 | grep -qw "${mpi#--mpi=}"; then
        skip "$name: this Slurm has no ${mpi#--mpi=}"
        continue
    fi
    rm -f one.json two.xml
    cluster_script $name jobs.txt | sed "s/--mpi=pmix/$mpi/" > cluster.sh
    id=$(submit --nodes=3 cluster.sh)
    check "$name: job on three nodes" ended "$id" COMPLETED 0
    check "$name: first report" is_equal one0.json one.json
    check "$name: second report" is_equal two0.xml two.xml
    check "$name: no message" [ -z "$(cat "job$id.out" "job$id".rank*.txt)" ]

    # By default, Slurm does not connect the MPI processes of this cluster.
    cluster_script $name jobs.txt | sed 's/--mpi=pmix//' > cluster.sh
    rm -f one.json
    id=$(submit --nodes=2 cluster.sh)
    check "$name: job without --mpi" ended "$id" FAILED 0
    cat "job$id".rank*.txt > messages # the first rank that fails ends the others
    check "$name: message without --mpi: $(cat messages)" grep -Eq \
        -e '^vmafgpu: srun started 2 processes, but MPI does not connect them; use srun --mpi=pmix' \
        -e 'direct launched using "srun"' messages
    check "$name: no report without --mpi" [ ! -e one.json ]

    # A rank is killed, but its node continues.
    start_long $name
    for process in $(processes node2); do
        case $(tr '\0' ' ' < "/proc/$process/cmdline") in build/cluster_*) kill -9 "$process" ;; esac
    done
    check "$name: killed rank" ended "$id" FAILED 0
    check "$name: killed rank: message: $(cat "job$id.rank0.txt")" \
        grep -q 'ended by a signal; reports are missing for jobs 1 (' "job$id.rank0.txt"
    check "$name: killed rank: no report" [ ! -e long.json ]
    until_true all_idle

    # A node fails: all its processes end without a message. Slurm runs the job again, on the other nodes.
    start_long $name
    # shellcheck disable=SC2046
    kill -9 $(processes node2)
    check "$name: lost node" ended "$id" COMPLETED 1
    check "$name: lost node: $(field "$id" NodeList)" [ "$(field "$id" NodeList)" = 'node[1,3]' ]
    check "$name: lost node: report" is_equal long0.json long.json
    start_node node2
    until_true all_idle || check "$name: the lost node returns" false
done

# A requeued job continues from its state.
script 2 | sed -e "s/--threads 4/$slow/" -e 's/scores.json/state.json/' > state.sh
id=$(submit state.sh)
is_large() {
    [ "$(wc -l < job.state)" -ge 30 ]
}
until_true is_large
scontrol requeue "$id"
until_true [ "$(field "$id" Restarts)" = 1 ]
cp job.state kept.state
check 'requeue: state of the first run' [ "$(wc -l < kept.state)" -lt 300 ]
check 'requeue with --state' ended "$id" COMPLETED 1
check 'requeue with --state: report' is_equal long0.json state.json
check 'requeue with --state: the second run continues the state' \
    cmp -s -n "$(wc -c < kept.state)" kept.state job.state

# An array of segments, and a job that joins them
script 3 | sed "s/--threads 4/$slow/" > segments.sh
script 4 | sed -e 's/segments.sh/--array=1-4 &/' -e 's/sbatch/submit/' > submit.sh
id=
. ./submit.sh > joined.id
check 'array: job that joins the segments' ended "$(cat joined.id)" COMPLETED 0
check 'array: number of parts' [ "$(ls part*.json | wc -l)" -eq 4 ]
check 'array: joined report' is_equal long0.json scores.json

stop > /dev/null 2>&1
check "no process is left: $(processes)" [ -z "$(processes)" ]
finish
