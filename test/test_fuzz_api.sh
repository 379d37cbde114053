#!/bin/sh
# Runs fuzz_api with a fixed seed. `make fuzz` runs it with new seeds.
#
#     test/test_fuzz_api.sh BUILD          DEPTH=all: ten times as many runs
build=$1
cpu=300
gpu=80
case $SANITIZE in
*thread*) cpu=60 gpu=20 ;;
?*) cpu=100 gpu=40 ;;
esac
if [ "$DEPTH" = all ]; then
    cpu=$((cpu * 10))
    gpu=$((gpu * 10))
fi
exec test/fuzz/api.sh "$build" "$build/test/fuzz_api" "--seed 1 --runs $cpu" "--seed 1 --runs $gpu"
