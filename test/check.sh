# Counts what is true and what is not. To be included.
# shellcheck shell=sh
passed=0
failed=0

# check WHAT COMMAND...: the command succeeds
check() {
    what=$1
    shift
    if "$@"; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "$what: not true: $*"
    fi
}
