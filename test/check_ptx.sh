#!/bin/sh
# Checks the compiled kernels for NVIDIA GPUs: the PTX images of `make blobs` and, if ptxas and a disassembler are
# installed, the machine code that ptxas makes from them.
#
#     test/check_ptx.sh [BUILD [SCRATCH_FOLDER [SCRATCH_FOLDER_OF_MAKE_BLOBS]]]
#                                           DEPTH=all: also assembles the 7.5 image for newer GPUs
#
# - The PTX version is at most 8.0, and the targets are sm_75 and sm_80.
# - Kernels read global memory only by ld.global.nc or cp.async; may_read_volatile and may_read_own list exceptions.
#   They do not use local memory or generic addresses. In the kernels of float features and slopes, no product is fused
#   with a sum (see may_fuse for exceptions). In machine code, divisions contain fused products.
# - For sm_75, sm_80, sm_90 and sm_120: no spills, no stack, and few enough registers for the number of blocks that the
#   kernel requests. Images that `make blobs` has assembled are not assembled again.
# - If a driver compiles the PTX: no spills. By default, this is checked for compute capability 8.0, 10.3 and
#   12.0, and only for the kernels that fit() changes for machine code. DEPTH=all: every kernel, and each
#   capability from 8.0 that ptxas supports.
# - Machine code contains LDG...CONSTANT and no other LDG (with the same exceptions), and does not use local memory.
# - The PTX contains no functions of libdevice or of the CUDA toolkit, so it can be distributed under any licence.
# - The container and the C header contain these images and the assembled machine code, and each is no larger than 6 MB.
build=${1:-build}
work=${2:-$build/codegen}
blobs=${3:-$build/blobs}
baseline=$build/vmafgpu_kernels.ptx
matrix=$build/vmafgpu_kernels.sm80.ptx
root=$(dirname "$0")/..
found=$work/found
mkdir -p "$work" || exit 1
. "$(dirname "$0")/codegen/compilers.sh"

# These kernels also use volatile loads, to read values that they have written.
may_read_volatile='vmafgpu_adm_rows vmafgpu_cambi_select vmafgpu_cambi_order vmafgpu_ciede'
may_read_volatile="$may_read_volatile vmafgpu_ssim_rounded vmafgpu_ssim_finalise vmafgpu_map_adjust"

# These kernels use volatile loads and load_own(), to read values before they overwrite them.
may_read_own='vmafgpu_slopes_combine_0 vmafgpu_slopes_combine_1 vmafgpu_slopes_combine_2 vmafgpu_slopes_wavelet'

# These kernels call fused() to separate coefficients, with exact results, or to correct quotients, which are rounded as
# by a division. Their slopes do not depend on fused products.
may_fuse='vmafgpu_slopes_(bands|terms|matrix)_'

# ---- PTX ----

check_head() { # FILE TARGET
    awk -v target="$2" '
        $1 == ".version" { version = $2 }
        $1 == ".target" { named = $2; sub(/,.*/, "", named) }
        $1 ~ /^(\.visible|\.entry)$/ && /\.entry/ { entries++ }
        END {
            if (version == "" || version + 0 > 8.0)
                print "PTX version is " (version == "" ? "missing" : version) ", should be at most 8.0"
            if (named != target)
                print "target is " (named == "" ? "missing" : named) ", should be " target
            if (!entries)
                print "no kernels"
        }' "$1"
}

# check_foreign FILE: prints the functions of libdevice (__nv_) and of the CUDA toolkit (__internal_, __cuda)
check_foreign() {
    grep -o -E '(__nv_|__internal_|__cuda)[A-Za-z_0-9]*' "$1" | sort -u
}

# check_memory FILE: also fails if there are no read-only loads at all, because the check itself is then wrong
check_memory() {
    awk -v volatile_kernels=" $may_read_volatile $may_read_own " -v own_kernels=" $may_read_own " \
        -v may_fuse="^$may_fuse" '
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
                     !(part[2] == "volatile" && index(volatile_kernels, " " name " ")) &&
                     !(word == "ld.global.v4.u32" && index(own_kernels, " " name " ")))
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
                else if (words[i] ~ /^(fma|mad)\..*f(32|64)/ && name !~ may_fuse &&
                         name ~ /^vmafgpu_(float|ssim|hvs|ciede|squares|slopes)/)
                    complain("product fused with a sum (" words[i] ")")
            }
        }
        END {
            for (i = 1; i <= kinds; i++)
                print order[i] ", " found[order[i]] " times"
            if (!readonly)
                print "no ld.global.nc"
        }' "$1"
}

# ---- ptxas ----

# bounds FILE ARCHITECTURE: prints the launch bounds in the image, ARCHITECTURE KERNEL THREADS BLOCKS
bounds() {
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

# resources LOG ARCHITECTURE: prints ARCHITECTURE KERNEL REGISTERS SHARED SPILLED STACK for each kernel. A function that
# kernels call has a separate line, without registers, if it has a stack or spills.
resources() {
    awk -v architecture="$2" '
        # Prints the line of the previous kernel.
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

# check_resources BOUNDS RESOURCES: checks spills, stacks, and whether the requested blocks fit on a multiprocessor.
# Registers are allocated to warps in units of 256, 8 for each thread. Blocks that exceed the number of threads of the
# multiprocessor are not required to fit.
check_resources() {
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
                print where $6 " bytes of stack"
            if (!(($1, $2) in threads))
                next
            of_block = threads[$1, $2]
            wanted = blocks[$1, $2]
            if (!of_block || of_block > 1024) {
                print where "launch bound is missing or exceeds 1024 threads"
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
                print where need " registers for " fit " blocks of " of_block " threads, should be at most 65536"
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
    awk -v volatile_kernels=" $may_read_volatile $may_read_own " -v own_kernels=" $may_read_own " '
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
                else if ($i ~ /^LDG(\.|$)/ && !($i ~ /\.STRONG/ && index(volatile_kernels, " " name " ")) &&
                         !($i ~ /\.128(\.SYS)?$/ && index(own_kernels, " " name " ")))
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
                print "no LDG...CONSTANT"
        }' "$1"
}

# ---- main part ----

printf '.func  (.param .b32 func_retval0) %s(\n' __internal_trig_reduction_slowpath __nv_logf logf > "$work/foreign"
if [ "$(check_foreign "$work/foreign" | wc -l)" -eq 2 ]; then
    passed=$((passed + 1))
else
    echo 'functions of the toolkit: not found in a file that contains two'
    failed=$((failed + 1))
fi

# image FILE TARGET ARCHITECTURE...: checks a PTX image, and its machine code for these architectures
image() {
    file=$1
    name=$(basename "$1")
    target=$2
    shift 2
    found=$work/found
    check_head "$file" "$target" > "$found"
    note "$name" "$found"
    check_foreign "$file" > "$found"
    note "$name, functions of the toolkit" "$found"
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
            skip "sm_$architecture (this ptxas does not support it)"
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
    echo "$name: threads x requested blocks; registers/bytes of static shared memory/bytes spilled"
    print_resources "$work/bounds" "$work/resources" "$built"
    note "$name" "$found"

    [ -n "$disassemble" ] || return
    for architecture in $built; do
        cubin=$work/$name.$architecture.cubin
        if ! $disassemble "$cubin" > "$cubin.sass" 2> "$cubin.log" || ! [ -s "$cubin.sass" ]; then
            skip "machine code of sm_$architecture (${disassemble%% *} cannot read it)"
            continue
        fi
        check_machine_code "$cubin.sass" > "$found"
        note "$name, machine code of sm_$architecture" "$found"
    done
}

# served FILE ARCHITECTURE...: checks the PTX as a driver compiles it, without the changes that fit() makes for machine
# code
served() {
    file=$1
    name=$(basename "$1")
    shift
    entries=
    [ "$DEPTH" = all ] || entries='-e vmafgpu_vif_matrix_0_8_int -e vmafgpu_vif_matrix_0_8_f64 -e vmafgpu_vif_terms_0_8'
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
    skip "PTX ($baseline or $matrix not found; run make blobs)"
    exit 0
fi
ptxas=${PTXAS:-$(find_tool ptxas)}
find_disassembler
[ -n "$ptxas" ] || skip 'registers, spills and machine code (ptxas of CUDA is not installed)'
[ -z "$ptxas" ] || [ -n "$disassemble" ] ||
    skip 'machine code (neither cuobjdump nor nvdisasm of CUDA is installed)'
newer=
[ "$DEPTH" = all ] && newer='80 90 120'
# shellcheck disable=SC2086
image "$baseline" sm_75 75 $newer
image "$matrix" sm_80 80 90 120
# Architectures on which earlier versions of the kernels spilled; with DEPTH=all, all architectures for which this image
# is used
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
