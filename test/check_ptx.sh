#!/bin/sh
# Checks the compiled kernels for NVIDIA GPUs: reads the images of `make blobs` and, if ptxas and a disassembler are
# installed, the machine code that ptxas makes of them.
#
#     test/check_ptx.sh [BUILD [FOLDER FOR SCRATCH FILES [SCRATCH FILES OF make blobs]]]
#                                           DEPTH=all: the image for 7.5 on newer ones, too, which get the other one
#
# - PTX no newer than 8.0, for sm_75 and sm_80.
# - Global memory is read by ld.global.nc (or cp.async) only; nothing is in local memory, and no address is generic (of
#   a kind that the compiler did not know). In the kernels of float features no product is fused with a sum (machine
#   code does that within divisions).
# - For sm_75, sm_80, sm_90 and sm_120: no spills, no stack, registers for as many blocks as the kernel requests. Images
#   that `make blobs` has assembled are not assembled again.
# - PTX as drivers compile it: no spills either. This is checked for GPUs of 8.0, 10.3 and 12.0, and for the kernels
#   that fit() changes for machine code. DEPTH=all: each GPU of 8.0 and later that ptxas supports, and every kernel.
# - In machine code: LDG...CONSTANT and no other LDG, no local memory.
# - The container and the C header hold these and the machine code that was made, in at most 6 MB.
build=${1:-build}
work=${2:-$build/codegen}
blobs=${3:-$build/blobs}
baseline=$build/vmafgpu_kernels.ptx
matrix=$build/vmafgpu_kernels.sm80.ptx
root=$(dirname "$0")/..
found=$work/found
mkdir -p "$work" || exit 1
. "$(dirname "$0")/codegen/compilers.sh"

# These kernels read what they write themselves, too: by a volatile read, which is no read-only one.
may_read_volatile='vmafgpu_adm_rows vmafgpu_cambi_select vmafgpu_cambi_order vmafgpu_ciede'
may_read_volatile="$may_read_volatile vmafgpu_ssim_rounded vmafgpu_ssim_finalise"

# ---- PTX ----

check_head() { # FILE TARGET
    awk -v target="$2" '
        $1 == ".version" { version = $2 }
        $1 == ".target" { named = $2; sub(/,.*/, "", named) }
        $1 ~ /^(\.visible|\.entry)$/ && /\.entry/ { entries++ }
        END {
            if (version == "" || version + 0 > 8.0)
                print "PTX version is " (version == "" ? "not said" : version) ", should be 8.0 at most"
            if (named != target)
                print "made for " (named == "" ? "nothing" : named) ", should be " target
            if (!entries)
                print "no kernels in it"
        }' "$1"
}

# Also fails where nothing at all is read through the read-only path: then something is wrong with this check.
check_memory() { # FILE
    awk -v volatile_kernels=" $may_read_volatile " '
        function complain(what) {
            key = name ": " what
            if (!(key in found))
                order[++kinds] = key
            found[key]++
        }
        # opcode.MODIFIERS.SPACE.TYPE; without a space the address is generic
        function access(word,    part, n, k, space) {
            n = split(word, part, ".")
            for (k = 2; k <= n && part[k] ~ /^(volatile|relaxed|acquire|release|weak|mmio|cta|cluster|gpu|sys)$/; k++)
                ;
            space = part[k]
            sub(/::.*/, "", space)
            if (space !~ /^(param|shared|const|global|local)$/)
                complain("generic " part[1] " (" word ")")
            else if (space == "local")
                complain(part[1] ".local")
            else if (space == "global" && part[1] == "ld" && part[k + 1] == "nc")
                readonly++
            else if (space == "global" && part[1] == "ld" &&
                     !(part[2] == "volatile" && index(volatile_kernels, " " name " ")))
                complain("ld.global other than .nc (" word ")")
        }
        {
            sub(/\/\/.*/, "")
            gsub(/[{}();,\t]/, " ")
        }
        /\.(entry|func)/ {
            name = $0
            sub(/.*\.(entry|func) */, "", name)
            sub(/^\.param [^ ]+( [^ ]+)* +func_retval[^ ]* */, "", name)
            sub(/ .*/, "", name)
        }
        {
            count = split($0, words, " ")
            for (i = 1; i <= count; i++) {
                if (words[i] ~ /^(ld|ldu|st)\./)
                    access(words[i])
                else if (words[i] ~ /^cp\.async\.c[ag]\.shared/)
                    readonly++
                else if (words[i] ~ /^(fma|mad)\..*f(32|64)/ && name ~ /^vmafgpu_(float|ssim|hvs|ciede|squares)/)
                    complain("a product fused with a sum (" words[i] ")")
            }
        }
        END {
            for (i = 1; i <= kinds; i++)
                print order[i] ", " found[order[i]] " times"
            if (!readonly)
                print "nothing is read by ld.global.nc"
        }' "$1"
}

# ---- ptxas ----

# "ARCHITECTURE KERNEL THREADS BLOCKS": the launch bounds in the image
bounds() { # FILE ARCHITECTURE
    awk -v architecture="$2" '
        /\.entry/ { name = $0; sub(/.*\.entry[ \t]+/, "", name); sub(/[^A-Za-z0-9_$].*/, "", name); names[++n] = name }
        /\.maxntid/ {
            gsub(/[^0-9]+/, " ")
            split($0, size, " ")
            threads[name] = size[1] * (size[2] ? size[2] : 1) * (size[3] ? size[3] : 1)
        }
        /\.minnctapersm/ { gsub(/[^0-9]+/, " "); blocks[name] = $1 }
        END { for (i = 1; i <= n; i++) print architecture, names[i], threads[names[i]] + 0, blocks[names[i]] + 0 }' "$1"
}

# "ARCHITECTURE KERNEL REGISTERS SHARED SPILLED STACK"; functions that kernels call have a stack and spills of their
# own, and no registers.
resources() { # LOG ARCHITECTURE
    awk -v architecture="$2" '
        # finish(): the kernel that the last lines were about
        function finish() {
            if (name != "")
                print architecture, name, registers + 0, shared + 0, spilled + 0, stack + 0
            name = ""
        }
        /Compiling entry function/ {
            finish()
            split($0, quoted, "\047")
            name = quoted[2]
            registers = shared = spilled = stack = 0
        }
        /Function properties for/ { of = $NF }
        /bytes stack frame/ {
            gsub(/,/, "")
            if (of != name && $1 + $5 + $9 > 0)
                print architecture, of, 0, 0, $5 + $9, $1
            else if (of == name) {
                stack = $1
                spilled = $5 + $9
            }
        }
        /Used [0-9]+ registers/ {
            for (i = 2; i <= NF; i++) {
                if ($i ~ /^registers/) registers = $(i - 1)
                if ($i ~ /^smem/) shared = $(i - 2)
            }
        }
        END { finish() }' "$1"
}

# Registers are allocated to warps in units of 256: 8 for each thread. Blocks that do not fit because the multiprocessor
# has too few threads are not required.
check_resources() { # BOUNDS RESOURCES
    awk '
        BEGIN {
            n = split("75 1024 80 2048 86 1536 87 1536 88 1536 89 1536 90 2048 100 2048 103 2048 110 1536 120 1536 " \
                "121 1536", list, " ")
            for (i = 1; i < n; i += 2)
                most[list[i]] = list[i + 1]
        }
        NR == FNR { threads[$1, $2] = $3; blocks[$1, $2] = $4; next }
        {
            where = $2 " on sm_" $1 ": "
            if ($5)
                print where $5 " bytes spilled"
            if ($6)
                print where "a stack of " $6 " bytes"
            if (!(($1, $2) in threads))
                next
            of_block = threads[$1, $2]
            wanted = blocks[$1, $2]
            if (!of_block || of_block > 1024) {
                print where "no launch bound of at most 1024 threads"
                next
            }
            fit = int(most[$1] / of_block)
            if (wanted && wanted < fit)
                fit = wanted
            if (!wanted)
                fit = 1
            warps = int((of_block + 31) / 32)
            need = int(($3 + 7) / 8) * 256 * warps * fit
            if (need > 65536)
                print where need " registers for " fit " blocks of " of_block " threads, there are 65536"
        }' "$1" "$2"
}

print_resources() { # BOUNDS RESOURCES ARCHITECTURES
    awk -v list="$3" '
        BEGIN {
            n = split(list, architectures, " ")
            printf "| %-34s | %-11s |", "kernel", "bound"
            rule = "|------------------------------------|-------------|"
            for (k = 1; k <= n; k++) {
                printf " %-9s |", "sm_" architectures[k]
                rule = rule "-----------|"
            }
            print "\n" rule
        }
        NR == FNR {
            if (!($2 in bound))
                order[++kernels] = $2
            bound[$2] = bound[$2] ? bound[$2] : $3 " x " $4
            next
        }
        { cell[$2, $1] = $3 "/" $4 "/" $5 }
        END {
            for (i = 1; i <= kernels; i++) {
                printf "| %-34s | %-11s |", order[i], bound[order[i]]
                for (k = 1; k <= n; k++)
                    printf " %-9s |", cell[order[i], architectures[k]]
                print ""
            }
        }' "$1" "$2"
}

# ---- machine code ----

check_machine_code() { # FILE
    awk -v volatile_kernels=" $may_read_volatile " '
        function complain(what) {
            key = name ": " what
            if (!(key in found))
                order[++kinds] = key
            found[key]++
        }
        /Function :/ { name = $NF; next }
        /^\.text\./ { name = $1; sub(/^\.text\./, "", name); sub(/:.*/, "", name); next }
        {
            for (i = 1; i <= NF; i++) {
                if ($i ~ /^LDG\./ && $i ~ /\.CONSTANT/)
                    readonly++
                else if ($i ~ /^LDG(\.|$)/ && !($i ~ /\.STRONG/ && index(volatile_kernels, " " name " ")))
                    complain("LDG without CONSTANT (" $i ")")
                else if ($i ~ /^(LDL|STL)(\.|$)/)
                    complain(substr($i, 1, 3))
                else if ($i ~ /^(LD|ST)(\.|$)/)
                    complain("generic " $i)
                else if ($i ~ /^LDGSTS/)
                    readonly++
            }
        }
        END {
            for (i = 1; i <= kinds; i++)
                print order[i] ", " found[order[i]] " times"
            if (!readonly)
                print "no LDG...CONSTANT in it"
        }' "$1"
}

# ---- all of it ----

# image FILE TARGET ARCHITECTURE...
image() {
    file=$1
    name=$(basename "$1")
    target=$2
    shift 2
    found=$work/found
    check_head "$file" "$target" > "$found"
    note "$name" "$found"
    check_memory "$file" > "$found"
    note "$name" "$found"
    [ -n "$ptxas" ] || return

    : > "$work/bounds"
    for architecture in "$@"; do
        cubin=$work/$name.$architecture.cubin
        rm -f "$cubin"
        fit "$architecture" "$file" > "$cubin.ptx"
        bounds "$cubin.ptx" "$architecture" >> "$work/bounds"
        if [ -f "$blobs/sm_$architecture.cubin" ] && cmp -s "$cubin.ptx" "$blobs/sm_$architecture.ptx"; then
            cp "$blobs/sm_$architecture.cubin" "$cubin" && cp "$blobs/sm_$architecture.log" "$cubin.log"
        else
            "$ptxas" -v "-arch=sm_$architecture" "$cubin.ptx" -o "$cubin" > "$cubin.log" 2>&1 &
        fi
    done
    wait
    : > "$work/resources"
    built=
    for architecture in "$@"; do
        cubin=$work/$name.$architecture.cubin
        if grep -q "is not defined for option 'gpu-name'" "$cubin.log"; then
            skip "this ptxas does not know sm_$architecture"
            continue
        elif [ ! -f "$cubin" ]; then
            grep -v '^ptxas info' "$cubin.log" | head -n 3 > "$found"
            [ -s "$found" ] || echo 'ptxas failed' > "$found"
            note "$name, sm_$architecture" "$found"
            continue
        fi
        built="$built $architecture"
        resources "$cubin.log" "$architecture" >> "$work/resources"
    done
    check_resources "$work/bounds" "$work/resources" > "$found"
    echo
    echo "$name: threads x blocks asked for; registers/static shared bytes/bytes spilled"
    print_resources "$work/bounds" "$work/resources" "$built"
    note "$name" "$found"

    [ -n "$disassemble" ] || return
    for architecture in $built; do
        cubin=$work/$name.$architecture.cubin
        if ! $disassemble "$cubin" > "$cubin.sass" 2> "$cubin.log" || ! [ -s "$cubin.sass" ]; then
            skip "${disassemble%% *} cannot read sm_$architecture"
            continue
        fi
        check_machine_code "$cubin.sass" > "$found"
        note "$name, machine code of sm_$architecture" "$found"
    done
}

# served FILE ARCHITECTURE...: the image as a driver gets it, without what fit() does for machine code
served() {
    file=$1
    name=$(basename "$1")
    shift
    entries=
    [ "$DEPTH" = all ] || entries='-e vmafgpu_vif_matrix_0_8_int -e vmafgpu_vif_matrix_0_8_f64'
    for architecture in "$@"; do
        log=$work/$name.served.$architecture.log
        # shellcheck disable=SC2086
        "$ptxas" -v "-arch=sm_$architecture" $entries "$file" -o "$work/served.cubin" > "$log" 2>&1
        status=$?
        grep -q "is not defined for option 'gpu-name'" "$log" && continue
        bounds "$file" "$architecture" > "$work/bounds"
        resources "$log" "$architecture" > "$work/resources"
        check_resources "$work/bounds" "$work/resources" > "$found"
        [ $status -eq 0 ] && [ -s "$work/resources" ] || echo 'ptxas failed' >> "$found"
        note "$name, compiled by a driver" "$found"
    done
}

if [ ! -f "$baseline" ] || [ ! -f "$matrix" ]; then
    skip "no images ($baseline, $matrix): see make blobs"
    exit 0
fi
ptxas=${PTXAS:-$(find_tool ptxas)}
find_disassembler
[ -n "$ptxas" ] || skip 'no ptxas (it comes with CUDA): registers, spills and machine code'
[ -z "$ptxas" ] || [ -n "$disassemble" ] || skip 'neither cuobjdump nor nvdisasm (they come with CUDA): machine code'
newer=
[ "$DEPTH" = all ] && newer='80 90 120'
# shellcheck disable=SC2086
image "$baseline" sm_75 75 $newer
image "$matrix" sm_80 80 90 120
# the architectures that have spilled; DEPTH=all: every one that this image serves
served_by='80 103 120'
[ "$DEPTH" != all ] || served_by='80 86 87 88 89 90 100 103 110 120 121'
# shellcheck disable=SC2086
[ -z "$ptxas" ] || served "$matrix" $served_by

parts=
for target in $nvidia_targets; do
    case $(cat "$blobs/sm_$target.status" 2> /dev/null) in
    built | kept) parts="$parts sm_$target $blobs/sm_$target.cubin" ;;
    esac
done
case $parts in *sm_75*) ;; *) parts="$parts ptx_75 $baseline" ;; esac
# shellcheck disable=SC2086
check_container nvidia 6000000 $parts ptx_80 "$matrix"
echo
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
