#!/bin/sh
# Checks the compiled kernels for AMD GPUs, the code objects of `make blobs`.
#
#     test/check_hsaco.sh [BUILD [SCRATCH_FOLDER [SCRATCH_FOLDER_OF_MAKE_BLOBS]]]
#
# Metadata of each kernel:
# - Code object version 5, the right number of lanes (32 or 64), and as many threads as vmafgpu.h launches.
# - No private memory, stack, spills, hidden arguments or static shared memory.
# - At most 64 KB of shared memory, including the dynamic part that the launch requests.
# - Few enough registers for a block to fit on a compute unit.
#
# Machine code:
# - Accesses to global memory only by global_* and s_load_*; no flat, scratch or buffer accesses, and no calls.
# - No matrix product where only some lanes are active: on gfx12, clang 19 can move products into such code.
# - No comparison that LLVM up to version 20 miscompiles; see compilers.sh.
#
# The container and the C header must contain these code objects, and each must be no larger than 4 MB. Finally, the
# checks must find the errors in wrong.hip.
build=${1:-build}
work=${2:-$build/codegen}
blobs=${3:-$build/blobs}
root=$(dirname "$0")/..
mkdir -p "$work" || exit 1
. "$root/test/codegen/compilers.sh"

found=$work/found

# ---- one code object ----

# check_head FILE TARGET NOTES: checks the ELF header. Byte 8 is the ABI version, which is 3 for code object version 5.
# Bytes 18 and 19 are the machine type.
check_head() {
    od -An -v -tu1 -N 20 "$1" | awk '
        { for (i = 1; i <= NF; i++) byte[n++] = $i }
        END {
            if (byte[0] != 127 || byte[1] != 69 || byte[2] != 76 || byte[3] != 70 || byte[18] + 256 * byte[19] != 224)
                print "not an AMD code object"
            else if (byte[8] != 3)
                print "version " byte[8] " of the ABI, should be 3 (code object version 5)"
        }'
    named=$(sed -n 's/^amdhsa\.target: *//p' "$3")
    [ "$named" = "amdgcn-amd-amdhsa--$2" ] || echo "target is ${named:-missing}, should be $2"
}

# resources NOTES: prints a sorted line for each kernel:
# KERNEL LANES THREADS VGPRS AGPRS SGPRS PRIVATE STACK SPILLED_VGPRS SPILLED_SGPRS SHARED HIDDEN
resources() {
    awk '
        function finish() {
            if (".name" in value)
                print value[".name"], value[".wavefront_size"] + 0, value[".max_flat_workgroup_size"] + 0,
                    value[".vgpr_count"] + 0, value[".agpr_count"] + 0, value[".sgpr_count"] + 0,
                    value[".private_segment_fixed_size"] + 0, value[".uses_dynamic_stack"] == "true",
                    value[".vgpr_spill_count"] + 0, value[".sgpr_spill_count"] + 0,
                    value[".group_segment_fixed_size"] + 0, hidden + 0
            split("", value)
            hidden = 0
        }
        /^amdhsa\./ { finish(); inside = /^amdhsa\.kernels:/; next }
        !inside { next }
        /^  - / { finish() }
        /^(  - |    )\./ { sub(/^  - /, ""); sub(/:/, "", $1); value[$1] = $2 }
        /\.value_kind: *hidden_/ { hidden++ }
        END { finish() }' "$1" | sort
}

# vector_registers TARGET: prints the number of vector registers per lane of a SIMD, the granularity of their
# allocation, and the number of SIMDs per compute unit. On gfx90a and later, the number of registers and the
# counts in the metadata include both kinds of vector registers. Some targets from gfx1100 on have 1.5 times as many.
vector_registers() {
    case $1 in
    gfx900 | gfx906 | gfx908) echo 256 4 4 ;;
    gfx9*) echo 512 8 4 ;;
    *) echo 1024 16 2 ;;
    esac
}

# These kernels may spill scalar registers. The compiler keeps spilled ones in lanes of vector registers, not in memory.
may_spill_scalars='vmafgpu_map_slopes$|vmafgpu_slopes_vif_|vmafgpu_slopes_bands_'

# check_resources TARGET LAUNCHES RESOURCES: LAUNCHES is the output of launches.c, and RESOURCES the output of
# resources()
check_resources() {
    multiplies=0
    amd_multiplies "$1" && multiplies=1
    awk -v lanes="$(amd_lanes "$1")" -v vector="$(vector_registers "$1")" -v multiplies=$multiplies \
        -v may_spill="^($may_spill_scalars)" '
        function up(a, b) { return int((a + b - 1) / b) }
        function complain(what) { print name ": " what }
        BEGIN { split(vector, most, " ") }
        FILENAME == ARGV[1] {
            if ($2 == lanes && (multiplies || $1 !~ /_matrix16_/)) {
                threads[$1] = $3
                shared[$1] = $4
            }
            next
        }
        {
            name = $1
            kernels++
            if ($2 != lanes) complain("waves of " $2 " lanes, should be " lanes)
            if (!(name in threads)) complain("launches.c does not contain it")
            else if ($3 != threads[name]) complain("compiled for " $3 " threads, launched with " threads[name])
            if ($7) complain($7 " bytes of private memory")
            if ($8) complain("uses a stack")
            if ($9) complain($9 " vector registers spilled")
            if ($10 && name !~ may_spill) complain($10 " scalar registers spilled")
            if ($11) complain($11 " bytes of static shared memory")
            if ($11 + shared[name] > 65536) complain($11 + shared[name] " bytes of shared memory")
            if ($12) complain($12 " hidden arguments")
            waves = up(up($3, lanes), most[3])
            if (waves * up($4, most[2]) * most[2] > most[1] || $5 > 256)
                complain($4 " vector registers, too many for a block of " $3 " threads")
            if ($6 > 112 || lanes == 64 && waves * up($6, 16) * 16 > 800)
                complain($6 " scalar registers, too many for a block of " $3 " threads")
            seen[name] = 1
        }
        END {
            for (name in threads)
                if (!(name in seen)) complain("missing")
        }' "$2" "$3"
}

# check_foreign FILE: prints the functions of the device libraries of ROCm (ocml, ockl) and the names of compilers
check_foreign() {
    grep -a -o -E '__(ocml|ockl|oclc)_[a-z_0-9]*|(clang version|LLD) [0-9.]*' "$1" | sort -u
}

# check_machine_code FILE RESOURCES: also fails if no kernel reads global memory, because the check itself is then wrong
check_machine_code() {
    awk '
        function complain(what) {
            key = name ": " what
            if (!(key in found))
                order[++kinds] = key
            found[key]++
        }
        FILENAME == ARGV[1] { expected++; next }
        /^[0-9a-f]+ <.*>:$/ { name = $2; gsub(/[<>:]/, "", name); functions++; some = 0; next }
        /^\t(s_[a-z0-9_]*saveexec|s_(and|andn2|and_not1|xor)_b(32|64) exec|v_cmpx)/ { some = 1 }
        /^\ts_or_b(32|64) exec/ || /^\ts_mov_b(32|64) exec(_lo)?, -1/ { some = 0 }
        some && /^\tv_(wmma|mfma)/ { complain("matrix product of some lanes") }
        /^\t(flat|scratch|tbuffer|image|s_buffer|s_scratch|s_store|s_atomic)_/ || /^\tbuffer_(load|store|atomic)/ {
            complain($1)
        }
        /^\ts_swappc/ { complain("call") }
        /^\tglobal_load/ { loads++ }
        END {
            for (i = 1; i <= kinds; i++)
                print order[i] ", " found[order[i]] " times"
            if (functions != expected)
                print functions + 0 " functions, should be " expected + 0 " kernels"
            if (!loads)
                print "no global_load"
        }' "$2" "$1"
}

# read_object FILE NAME: writes $work/NAME.notes, .resources and .code
read_object() {
    "$readelf" --notes "$1" > "$work/$2.notes" 2>&1
    resources "$work/$2.notes" > "$work/$2.resources"
    "$objdump" -d "$1" > "$work/$2.code" 2>&1
}

# ---- the table of all kernels and targets ----

print_table() { # TARGET...
    for column in "$@"; do
        sed "s/^vmafgpu_/$column /" "$work/$column.resources"
    done | awk -v list="$*" '
        BEGIN {
            n = split(list, targets, " ")
            line = sprintf("| %-21s |", "kernel")
            rule = "|-----------------------|"
            for (k = 1; k <= n; k++) {
                line = line sprintf(" %-7s |", targets[k])
                rule = rule "---------|"
            }
            print line "\n" rule
        }
        {
            if (!($2 in seen)) { seen[$2] = 1; order[++kernels] = $2 }
            cell[$2, $1] = $5 ($6 ? "+" $6 : "") "/" $7
        }
        END {
            for (i = 1; i <= kernels; i++) {
                line = sprintf("| %-21s |", order[i])
                for (k = 1; k <= n; k++)
                    line = line sprintf(" %-7s |", cell[order[i], targets[k]])
                print line
            }
        }'
}

# ---- errors that the checks must find ----

# must_find PATTERN: checks that $found contains a line that begins with this pattern
must_find() {
    if grep -q "^$1" "$found"; then
        passed=$((passed + 1))
    else
        echo "wrong.hip, $target: not found: $1"
        failed=$((failed + 1))
    fi
}

# check_wrong_object OPTION...: compiles wrong.hip for $target, and writes the results of the checks to $found
check_wrong_object() {
    file=$work/wrong.hsaco
    # shellcheck disable=SC2086
    clang_to_stripped_hsaco "$target" "$root/test/codegen/wrong.hip" "$file" "-I$root" "$@" > "$work/wrong.log" \
        2>&1
    read_object "$file" wrong
    {
        check_head "$file" "$target" "$work/wrong.notes"
        check_resources "$target" "$work/wrong.launches" "$work/wrong.resources"
        check_machine_code "$work/wrong.code" "$work/wrong.resources"
    } > "$found"
}

check_wrong() {
    for lanes in 32 64; do
        for name in right private_array stack spilled static_shared hidden_arguments generic_address call missing; do
            echo "$name $lanes 64 0"
        done
        echo "other_threads $lanes 128 0"
        echo "too_much_shared $lanes 64 65540"
    done > "$work/wrong.launches"
    for target in gfx90a gfx1030 gfx1201; do
        knows_amd_target $target || continue
        check_wrong_object
        must_find 'private_array: [0-9]* bytes of private memory'
        must_find 'private_array: \(scratch\|buffer\)_'
        must_find 'stack: uses a stack'
        must_find 'spilled: [0-9]* vector registers spilled'
        must_find 'spilled_scalars: [0-9]* scalar registers spilled'
        must_find 'spilled_scalars: launches.c does not contain it'
        must_find 'static_shared: [0-9]* bytes of static shared memory'
        must_find 'hidden_arguments: [0-9]* hidden arguments'
        must_find 'generic_address: flat_'
        must_find 'call: call'
        must_find 'other_threads: compiled for 64 threads, launched with 128'
        must_find 'too_much_shared: 65540 bytes of shared memory'
        must_find 'missing: missing'
        grep '^right: ' "$found" > "$work/right"
        note "wrong.hip, $target" "$work/right"
    done

    target=gfx1201
    check_wrong_object -mwavefrontsize64
    must_find 'right: waves of 64 lanes, should be 32'
    check_wrong_object -mcode-object-version=6
    must_find 'version 4 of the ABI'
    check_head "$file" gfx1200 "$work/wrong.notes" > "$found"
    must_find 'target is amdgcn-amd-amdhsa--gfx1201, should be gfx1200'
    printf '%s <right>:\n\ts_and_b32 exec_lo, exec_lo, vcc_lo\n\tv_wmma_i32_16x16x16_iu8 v[1:8]\n' \
        0 > "$work/wrong.code"
    check_machine_code "$work/wrong.code" "$work/wrong.resources" > "$found"
    must_find 'right: matrix product of some lanes'
    : > "$work/wrong.code"
    check_machine_code "$work/wrong.code" "$work/wrong.resources" > "$found"
    must_find 'no global_load'
    must_find '0 functions'
    echo 'right 32 1024 200 0 20 0 0 0 0 0 0' > "$work/wrong.resources"
    check_resources $target "$work/wrong.launches" "$work/wrong.resources" > "$found"
    must_find 'right: 200 vector registers, too many for a block of 1024 threads'

    # shellcheck disable=SC2016
    {
        echo '# Machine code for function wrong: NoPHIs'
        echo '  V_CMPX_GE_U32_nosdst_e64 3, killed renamable $sgpr4, implicit-def $exec, implicit $exec'
        echo '  V_CMPX_LE_U32_nosdst_e64 $vgpr1, $sgpr4, implicit-def $exec, implicit $exec'
        echo '  V_CMPX_GE_U32_nosdst_e64 $sgpr4, killed $vgpr1, implicit-def $exec, implicit $exec'
        echo '  V_CMPX_LE_U32_nosdst_e64 3, $vgpr1, implicit-def $exec, implicit $exec'
        echo '  V_CMPX_LT_U32_nosdst_e64 3, $sgpr4, implicit-def $exec, implicit $exec'
    } > "$work/wrong.log"
    swapped_comparisons "$work/wrong.log" > "$found"
    must_find 'wrong: V_CMPX_GE_U32_nosdst_e64 3, killed renamable .sgpr4 '
    must_find 'wrong: V_CMPX_LE_U32_nosdst_e64 .vgpr1, .sgpr4 '
    sed '1,2d' "$found" > "$work/right"
    note 'comparisons that LLVM compiles correctly' "$work/right"
    swapped_comparisons /dev/null > "$found"
    must_find 'the compiler printed no code'

    printf 'code\0__ocml_exp2_f32\0more\0Linker: Debian LLD 19.1.7' > "$work/foreign"
    check_foreign "$work/foreign" > "$found"
    must_find '__ocml_exp2_f32'
    must_find 'LLD 19.1.7'
}

# ---- main part ----

targets=
for target in $amd_targets; do
    [ -f "$build/vmafgpu_kernels.$target.hsaco" ] && targets="$targets $target"
done
if [ -z "$targets" ]; then
    skip "code objects ($build/vmafgpu_kernels.TARGET.hsaco not found; run make blobs)"
    exit 0
fi
if ! find_amd_readers; then
    skip 'code objects (llvm-readelf and llvm-objdump 19 or later are not installed: apt-get install llvm-19)'
    exit 0
fi

if ! ${CC:-cc} "$root/test/codegen/launches.c" -o "$work/launches" -lm -lpthread -ldl > "$work/log" 2>&1 ||
    ! "$work/launches" > "$work/launches.txt"; then
    head -n 5 "$work/log"
    echo 'test/codegen/launches.c failed'
    : > "$work/launches.txt"
    failed=$((failed + 1))
fi

for target in $targets; do
    read_object "$build/vmafgpu_kernels.$target.hsaco" "$target" &
done
wait
shown=
for target in $targets; do
    check_head "$build/vmafgpu_kernels.$target.hsaco" "$target" "$work/$target.notes" > "$found"
    note "$target" "$found"
    check_resources "$target" "$work/launches.txt" "$work/$target.resources" > "$found"
    note "$target" "$found"
    check_machine_code "$work/$target.code" "$work/$target.resources" > "$found"
    note "$target, machine code" "$found"
    check_foreign "$build/vmafgpu_kernels.$target.hsaco" > "$found"
    note "$target, functions of ROCm and names of compilers" "$found"
    if [ -f "$blobs/$target.swapped" ]; then
        shown="$shown $target"
        note "$target, comparisons" "$blobs/$target.swapped"
    fi
done

echo
echo 'code objects: vector registers/scalar registers of each kernel'
wide=
narrow=
for target in $targets; do
    if [ "$(amd_lanes "$target")" = 64 ]; then wide="$wide $target"; else narrow="$narrow $target"; fi
done
# shellcheck disable=SC2086
for list in "$wide" "$narrow"; do
    [ -n "$list" ] && echo && print_table $list
done
[ -z "$shown" ] || printf '\nchecked for comparisons that LLVM up to 20 compiles incorrectly:%s\n' "$shown"

objects=
for target in $targets; do
    objects="$objects $target $build/vmafgpu_kernels.$target.hsaco"
done
# shellcheck disable=SC2086
check_container amd 4000000 $objects

if find_amd_clang; then
    check_wrong
else
    skip 'errors that the checks must find (there is no clang 19 or later that writes AMD code objects)'
fi
echo
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
