#!/bin/sh
# Computes how much stack space the calls and tasks of the CPU backend can need, from the call graph of GCC
# (stack.awk), and compares the bounds with those in the manual. test_stack.c measures real calls, which need less.
#
#     test/test_stack_bounds.sh BUILD
build=${1:-build}
. "$(dirname "$0")/check.sh"
work_folder stack
gcc=${GCC:-gcc}
call_limit=38000
task_limit=28000
# Functions that may call themselves, and how deep: JSON texts have at most 32 levels.
nested='vmafgpu__json_skip=33'
# Functions that call back into the user's program through pointers, for allocation and for log messages.
outside='vmafgpu__take vmafgpu__memory_take vmafgpu__memory_give vmafgpu__log'

"$gcc" -dM -E - < /dev/null > "$work/macros" 2> /dev/null
if ! grep -q '__x86_64__' "$work/macros" || grep -q '__clang__' "$work/macros" ||
    ! "$gcc" -std=c99 -O2 -w -DVMAFGPU_NO_GPU -fcallgraph-info=su,da -c -o "$work/bounds.o" test/implementation.c \
        2> "$work/log"; then
    skip 'bounds of the stack (GCC 10 or later for x86-64)'
    finish
fi
bounds_of() {
    awk -v nested="$nested" -v outside="$outside" -f test/stack.awk "$1"
}
graph=$(find "$work" -name '*.ci')
bounds_of "$graph" > "$work/bounds"

check 'functions are found' [ "$(grep -c '^call vmafgpu_' "$work/bounds")" -gt 50 ]
check 'tasks are found' [ "$(grep -c '^task vmafgpu__' "$work/bounds")" -gt 10 ]
grep '^unbounded' "$work/bounds"
check 'each function has a bound' [ "$(grep -c '^unbounded' "$work/bounds")" -eq 0 ]
for name in $(sed -n 's/^recursion //p' "$work/bounds" | sort -u); do
    check "$name calls itself" [ "${nested#*"$name"=}" != "$nested" ]
done
# largest KIND: prints the largest bound
largest() {
    awk -v kind="$1" '$1 == kind && $3 > most { most = $3 } END { print most + 0 }' "$work/bounds"
}
echo "calls: at most $(largest call) bytes; tasks: at most $(largest task) bytes"
check "calls need at most $call_limit bytes" [ "$(largest call)" -le $call_limit ]
check "tasks need at most $task_limit bytes" [ "$(largest task)" -le $task_limit ]
check 'the bounds are not too large' [ "$(largest call)" -gt $((call_limit * 3 / 4)) ]
stated="at most $((call_limit / 1000)) kB for calls and $((task_limit / 1000)) kB"
check 'the manual gives these bounds' grep -q "$stated" vmafgpu.h

# A function with a large array, and one that calls itself, must be found.
sed '/^node: { title: "vmafgpu_push"/s/n[0-9]* bytes/n99999 bytes/' "$graph" > "$work/large.ci"
bounds_of "$work/large.ci" > "$work/bounds"
check 'a large array is found' [ "$(largest call)" -gt 99999 ]
{
    cat "$graph"
    echo 'edge: { sourcename: "vmafgpu_flush" targetname: "vmafgpu_flush" label: "x" }'
} > "$work/self.ci"
bounds_of "$work/self.ci" > "$work/bounds"
check 'a recursion is found' grep -q '^recursion vmafgpu_flush$' "$work/bounds"
finish
