/* Runs a WebAssembly program that uses WASI, under Node.js. The program can read and write files in the current folder
 * and in the folder that contains it.
 *
 *     node test/wasm.mjs PROGRAM ARGUMENTS...
 */
import fs from 'node:fs';
import {WASI} from 'node:wasi';

const [program, ...args] = process.argv.slice(2);
const wasi = new WASI({
    version: 'preview1',
    args: [program, ...args],
    env: process.env,
    preopens: {'.': '.', '..': '..'},
});
/* Node.js 20 sometimes crashes if a program calls these functions without a JavaScript function in between. */
const calls = Object.entries(wasi.wasiImport).map(([name, call]) => [name, (...values) => call(...values)]);
const module = await WebAssembly.compile(fs.readFileSync(program));
const instance = await WebAssembly.instantiate(module, {wasi_snapshot_preview1: Object.fromEntries(calls)});
process.exitCode = wasi.start(instance) ?? 0;
