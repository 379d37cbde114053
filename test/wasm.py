"""Runs a WebAssembly program that uses WASI, under wasmtime. The program can read and write files in the current folder
and in the folder that contains it.

    python3 test/wasm.py PROGRAM ARGUMENTS...
"""
import os
import sys

import wasmtime

config = wasmtime.WasiConfig()
config.argv = sys.argv[1:]
config.env = list(os.environ.items())
config.inherit_stdout()
config.inherit_stderr()
config.preopen_dir('.', '.')
config.preopen_dir('..', '..')

engine = wasmtime.Engine()
store = wasmtime.Store(engine)
store.set_wasi(config)
linker = wasmtime.Linker(engine)
linker.define_wasi()
program = linker.instantiate(store, wasmtime.Module.from_file(engine, sys.argv[1]))
try:
    program.exports(store)['_start'](store)
except wasmtime.ExitTrap as exit:
    sys.exit(exit.code)
