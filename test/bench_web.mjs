/* Measures the modules of examples/web under Node.js, one frame pair of 1080p at a time. Needs `make web` and
 * build/test/make_clip. Prints, for each model and number of threads, the minimum processor time (with one thread) and
 * the minimum elapsed time per pair.
 *
 *     node test/bench_web.mjs BUILD [THREADS...]        default: 1 2 4
 *     BUILD/test/bench_cpu size=1920x1080 bits=8 threads=1 mask=16      the native code with AVX2, for the same clip
 */
import {execFileSync} from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import {pathToFileURL} from 'node:url';

const build = path.resolve(process.argv[2] ?? 'build'), counts = process.argv.slice(3).map(Number);
const {VMAF} = await import(pathToFileURL(`${build}/web/vmaf.mjs`));
const width = 1920, height = 1080, pairs = 2, rounds = 60;

const folder = fs.mkdtempSync(`${os.tmpdir()}/bench_web.`), names = ['ref', 'dist'].map((n) => `${folder}/${n}.y4m`);
execFileSync(`${build}/test/make_clip`, ['texture+mix', `${width}x${height}`, '8', '420', `${pairs}`, '1', ...names]);
const size = width * height * 3 / 2, films = names.map((name) => fs.readFileSync(name));
fs.rmSync(folder, {recursive: true});
const frame = (film, i) => {
    const end = film.length - (pairs - 1 - i % pairs) * (size + 6); /* "FRAME\n" precedes each frame */
    return film.subarray(end - size, end);
};

async function measure(file, model, threads) {
    const module = fs.readFileSync(`${build}/web/${file}`);
    const vmaf = await VMAF.create({module, width, height, model, threads});
    let cpu = Infinity, elapsed = Infinity;
    for (let i = 0; i < rounds; i++) {
        const [used, start] = [process.cpuUsage().user, performance.now()];
        await vmaf.push(frame(films[0], i), frame(films[1], i));
        if (i < 6) continue; /* the code is still being optimised */
        elapsed = Math.min(elapsed, performance.now() - start);
        cpu = Math.min(cpu, (process.cpuUsage().user - used) / 1000);
    }
    vmaf.close();
    return {cpu, elapsed};
}

console.log(`${os.cpus()[0].model}, ${os.availableParallelism()} processors, Node.js ${process.versions.node}`);
for (const model of ['vmaf_v0.6.1', 'vmaf_v1.0.16_3d0h']) {
    const one = await measure('vmafgpu.wasm', model, 1);
    console.log(`${model}: ${one.cpu.toFixed(1)} ms of processor time, ${one.elapsed.toFixed(1)} ms elapsed`);
    let base;
    for (const threads of counts.length ? counts : [1, 2, 4]) {
        const {elapsed} = await measure('vmafgpu_threads.wasm', model, threads);
        base ??= elapsed;
        console.log(`${model}, module with threads, ${threads} threads: ${elapsed.toFixed(1)} ms elapsed, ` +
                    `${(base / elapsed).toFixed(2)} times the speed of the first row`);
    }
}
