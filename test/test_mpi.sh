#!/bin/sh
# Runs examples/tool/mpi/cluster_mpi.c with 1, 2, 4 and 7 ranks. The reports must equal those of a single process. If a
# rank fails, a message must name it and another rank must score its segments. If a rank is killed, a message must list
# the missing reports. Skipped if there is no MPI.
#
#     test/test_mpi.sh BUILD
build=$(cd "${1:-build}" && pwd) || exit 1
. "$(dirname "$0")/check.sh"
if ! command -v mpicc > /dev/null || ! command -v mpirun > /dev/null || [ -n "$RUNNER$SANITIZE" ]; then
    skip 'cluster_mpi (it needs mpicc and mpirun, and runs without RUNNER and SANITIZE)'
    finish
fi
work_folder mpi
mkdir "$work/tmp"
if ! MAKEFLAGS='' make mpi BUILD="$build" > "$work/log" 2>&1; then
    cat "$work/log"
    echo '0 passed, 1 failed'
    exit 1
fi
check 'make mpi: no warnings' [ "$(grep -c warning "$work/log")" -eq 0 ]

OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 TMPDIR=$work/tmp
OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_btl_base_warn_component_unused=0
export OMPI_ALLOW_RUN_AS_ROOT OMPI_ALLOW_RUN_AS_ROOT_CONFIRM TMPDIR OMPI_MCA_rmaps_base_oversubscribe \
    OMPI_MCA_btl_base_warn_component_unused
"$build/test/make_clip" texture+mix 96x80 8 420 40 4 "$work/ref.y4m" "$work/one.y4m" || exit 1
"$build/test/make_clip" texture+blur 96x80 8 420 40 4 "$work/ref.y4m" "$work/two.y4m" || exit 1
cd "$work" || exit 1
cat > jobs.txt << 'JOBS'
# one job per line
-r ref.y4m -d one.y4m --json -o one.json --precision max

-r 'ref.y4m' -d "two.y4m" -o two.xml -m version=vmaf_v0.6.1neg:name=neg --subsample 3   # the second job
-r ref.y4m -d one.y4m -d two.y4m --csv -o both1.csv -o both2.csv --from 5 --to 31 --pool mean
JOBS

mask() {
    for file in "$@"; do
        sed -e 's/^  "fps": [^,]*,/  "fps": ,/' -e 's/<fyi fps="[^"]*"/<fyi fps=""/' "$file"
    done
}
tool=$build/vmafgpu
$tool -r ref.y4m -d one.y4m --json -o one.json --precision max --quiet
$tool -r ref.y4m -d two.y4m -o two.xml -m version=vmaf_v0.6.1neg:name=neg --subsample 3 --quiet
$tool -r ref.y4m -d one.y4m -d two.y4m --csv -o both1.csv -o both2.csv --from 5 --to 31 --pool mean --quiet > /dev/null
mask one.json two.xml both1.csv both2.csv > expected

# run RANKS ARGUMENTS...: compares the reports with those of a single process
run() {
    ranks=$1
    shift
    rm -f one.json two.xml both1.csv both2.csv
    timeout 120 mpirun -n "$ranks" "$build/cluster_mpi" "$@" > out 2> err
    check "$ranks ranks: status" [ $? -eq 0 ]
    mask one.json two.xml both1.csv both2.csv > got
    check "$ranks ranks: reports" cmp -s expected got
    check "$ranks ranks: pooled scores" [ "$(grep -c ' mean [0-9.]*$' out)" -eq 2 ]
    check "$ranks ranks: no temporary files" [ -z "$(find tmp -name 'part*')" ]
}
run 1 jobs.txt --segments 3
run 2 jobs.txt
run 4 jobs.txt --segments 5
run 7 jobs.txt --segments 7

# Segments with so many rows that each needs several messages.
"$build/test/make_clip" texture+mix 16x16 8 400 2500 4 many_ref.y4m many.y4m || exit 1
echo '-r many_ref.y4m -d many.y4m --json -o many.json --precision max' > many.txt
$tool -r many_ref.y4m -d many.y4m --json -o many.json --precision max --quiet
mask many.json > many_expected
rm -f many.json
timeout 120 mpirun -n 3 "$build/cluster_mpi" many.txt --segments 4 > out 2> err
check 'many rows: status' [ $? -eq 0 ]
mask many.json > got
check 'many rows: report' cmp -s many_expected got
check 'many rows: no segment failed' [ "$(grep -c 'segment' err)" -eq 0 ]

# A rank cannot find a video: a message names the rank, and other ranks score its segments.
mkdir -p elsewhere
cp ref.y4m elsewhere/
cat > lame.sh << LAME
#!/bin/sh
[ "\${OMPI_COMM_WORLD_RANK:-\$PMI_RANK}" != 1 ] || cd elsewhere
exec "$build/cluster_mpi" "\$@"
LAME
chmod +x lame.sh
rm -f one.json two.xml both1.csv both2.csv
timeout 120 mpirun -n 3 ./lame.sh "$work/jobs.txt" --segments 6 > out 2> err
check 'failing rank: status' [ $? -eq 0 ]
mask one.json two.xml both1.csv both2.csv > got
check 'failing rank: reports' cmp -s expected got
check 'failing rank: message' \
    grep -Eq '^vmafgpu: rank 1 \(.*\) failed at segment [1-6] of 6 of job [1-3]; the segment is assigned again$' err
# No rank can score a segment: a message names the job, and the other job is completed.
printf '%s\n' '-r ref.y4m -d one.y4m --json -o one.json --precision max' '-r ref.y4m -d none.y4m -o none.xml' > bad.txt
rm -f one.json
timeout 120 mpirun -n 2 "$build/cluster_mpi" bad.txt --segments 2 > out 2> err
check 'failing job: status' [ $? -ne 0 ]
check 'failing job: message' \
    grep -q '^vmafgpu: job 2 failed and has no report: a segment failed; 0 of 2 segments are done' err
check 'failing job: report of the other job' [ -s one.json ]
printf '%s\n' '-r ref.y4m' > bad.txt
timeout 120 mpirun -n 2 "$build/cluster_mpi" bad.txt > out 2> err
check 'invalid job: status' [ $? -ne 0 ]
check 'invalid job: number of messages' [ "$(grep -c 'job 1 is invalid' err)" -eq 1 ]

# A rank is killed while it scores.
"$build/test/make_clip" texture+mix 640x360 8 420 150 4 long_ref.y4m long.y4m || exit 1
echo '-r long_ref.y4m -d long.y4m -o long.xml -m version=vmaf_v0.6.1 -m version=vmaf_v0.6.1neg:name=neg' > long.txt
cat > marked.sh << MARKED
#!/bin/sh
echo \$\$ > "pid\${OMPI_COMM_WORLD_RANK:-\$PMI_RANK}"
exec "$build/cluster_mpi" "\$@"
MARKED
chmod +x marked.sh
timeout 120 mpirun -n 2 ./marked.sh long.txt --segments 30 > out 2> err &
for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30; do
    sleep 0.1
    [ -z "$(find tmp -name 'part0-*-3')" ] || break
done
kill -9 "$(cat pid1)" 2> /dev/null
wait $!
if mpirun --version 2>&1 | grep -q 'Open MPI'; then # other implementations end the remaining ranks with SIGKILL
    check 'killed rank: message' grep -q 'rank 1' err
    [ -s long.xml ] || check 'killed rank: missing reports' \
        grep -q 'ended by a signal; reports are missing for jobs 1 (' err
fi

finish
