/* Tests the module and the page of examples/web; test_web.sh creates the clips and starts this program.
 *
 *     node test/web.mjs BUILD TOOL WORK [CHROMIUM [FIREFOX]]
 *
 * An empty name of a browser leaves out its tests.
 */
import {execFileSync, spawn} from 'node:child_process';
import fs from 'node:fs';
import http from 'node:http';
import net from 'node:net';
import path from 'node:path';
import {pathToFileURL} from 'node:url';

const [build, tool, work, browser, firefox] = process.argv.slice(2).map((p, i) => (i < 3 ? path.resolve(p) : p));
const {VMAF, parseY4m, y4mFrames} = await import(pathToFileURL(`${build}/web/vmaf.mjs`));
let passed = 0, failed = 0;

function check(what, ok, detail = '') {
    if (ok)
        passed++;
    else
        failed++, console.log(`${what}: failed ${detail}`);
    return ok;
}

/* ---- the module ---- */

const bytesOf = (name) => fs.readFileSync(`${work}/${name}`);
const native = (reference, distorted, model, ...more) => {
    execFileSync(tool, [
        '-r', `${work}/${reference}`, '-d', `${work}/${distorted}`, '-m', `version=${model}`, '--quiet', '--json', '-o',
        `${work}/native.json`, '--precision', 'max', ...more
    ]);
    return fs.readFileSync(`${work}/native.json`, 'utf8');
};
const withoutFps = (report) => report.replace(/"fps": [0-9.]+/, '');
const module = await WebAssembly.compile(fs.readFileSync(`${build}/web/vmafgpu.wasm`));
const refusal = async (action) => {
    try {
        await action();
        return '';
    } catch (error) { return error.message; }
};

/* Scores two y4m files. `change` converts frames to another form before they are pushed. */
async function score(reference, distorted, options = {}, change = (frame) => frame) {
    const files = [reference, distorted].map((name) => new Blob([bytesOf(name)])), head = parseY4m(bytesOf(reference));
    const vmaf = await VMAF.create({...head, module, ...options}), frames = files.map(y4mFrames);
    for (;;) {
        const [a, b] = await Promise.all(frames.map((f) => f.next()));
        if (a.done || b.done) break;
        await vmaf.push(change(a.value, head), change(b.value, head));
    }
    vmaf.flush();
    return vmaf;
}

/* Converts planes to NV12 or P010. */
function interleave(planes, {width, height, bitDepth}, format) {
    const bytes = bitDepth > 8 ? 2 : 1, luma = width * height * bytes, out = new Uint8Array(planes.length);
    out.set(planes.subarray(0, luma));
    const side = (planes.length - luma) / 2;
    for (let i = 0; i < side; i += bytes)
        for (let k = 0; k < bytes; k++) {
            out[luma + 2 * i + k] = planes[luma + i + k];
            out[luma + 2 * i + bytes + k] = planes[luma + side + i + k];
        }
    if (format === 'p010') {
        const words = new Uint16Array(out.buffer);
        words.forEach((w, i) => {
            words[i] = w << (16 - bitDepth);
        });
    }
    return {data: out, format};
}

async function testModule() {
    for (const name of ['odd', 'ten', 'full', 'film'])
        for (const model of ['vmaf_v0.6.1', 'vmaf_v0.6.1neg', 'vmaf_b_v0.6.3', 'vmaf_v1.0.16_3d0h']) {
            if (model.includes('v1') && name === 'film') continue;
            const pair = [`${name}_ref.y4m`, `${name}_dist.y4m`];
            const vmaf = await score(...pair, {model, features: ['psnr']});
            const expected = withoutFps(native(...pair, model, '--feature', 'psnr'));
            check(`module: ${name} ${model}`, withoutFps(vmaf.report('json', {digits: Infinity})) === expected);
            vmaf.close();
        }
    const shared = fs.readFileSync(`${build}/web/vmafgpu_threads.wasm`);
    for (const [name, model] of [['film', 'vmaf_v0.6.1'], ['odd', 'vmaf_v1.0.16_3d0h']])
        for (const threads of [1, 2, 5]) {
            const files = [`${name}_ref.y4m`, `${name}_dist.y4m`];
            const one = await score(...files, {model}), many = await score(...files, {model, module: shared, threads});
            const reports = [one, many].map((v) => v.report('json', {digits: Infinity}));
            check(`module: ${threads} threads, ${model}`, reports[0] === reports[1]);
            one.close();
            many.close();
        }
    const pair = ['odd_ref.y4m', 'odd_dist.y4m'], plain = await score(...pair, {features: ['psnr']});
    check('module: instruction set', plain.instructionSet === 'simd128', plain.instructionSet);
    check(
        'module: pooled',
        plain.pool('min') <= plain.pool(5) && plain.pool(5) <= plain.pool() && plain.pool() <= plain.pool('max'));
    const mixed = await score(...pair, {features: ['psnr']}, (frame, head) => interleave(frame, head, 'nv12'));
    check('module: nv12', mixed.report() === plain.report());
    const high = await VMAF.create({module, width: 64, height: 64, bitDepth: 10});
    const noise = Uint16Array.from({length: high.frameSize / 2}, (_, i) => (i * 7919) % 1021);
    const head = {width: 64, height: 64, bitDepth: 10};
    await high.push(noise, noise);
    await high.push(interleave(new Uint8Array(noise.buffer), head, 'p010'), {data: noise, format: 'planar'});
    const rows = high.flush();
    check(
        'module: p010',
        rows.length === 1 && rows[0].values.integer_vif_scale0 === 1 && rows[0].values.integer_motion2 === 0,
        JSON.stringify(rows));
    const rgb = await VMAF.create({module, width: 64, height: 64, colour: {}}),
          grey = new Uint8ClampedArray(64 * 64 * 4).fill(128);
    await rgb.push({data: grey, format: 'rgba'}, new Uint8Array(rgb.frameSize).fill(126));
    check('module: rgba is 126 in limited range', rgb.flush()[0].values.integer_vif_scale0 === 1);
    const csv = plain.report('csv').split('\n');
    check('module: csv', csv[0].startsWith('Frame,integer_adm2,') && csv.length === 6, csv[0]);

    const size = {module, width: 64, height: 64};
    for (const [words, action] of [
             ['module: is missing', () => VMAF.create({width: 64, height: 64})],
             ['width', () => VMAF.create({...size, width: 8})],
             ['width: must be an integer', () => VMAF.create({...size, width: '64'})],
             ['chroma: must be', () => VMAF.create({...size, chroma: 411})],
             ['vmaf_v9', () => VMAF.create({...size, model: 'vmaf_v9'})],
             ['ciede', () => VMAF.create({...size, features: ['ciede']})],
             ['need the module vmafgpu_threads', () => VMAF.create({...size, threads: 2})],
        ['too small', () => VMAF.create({...size, model: 'vmaf_v1.0.16_3d0h'})],
             [
                 'has 6144 bytes, not 5',
                 () => plain.constructor.create(size).then((v) => v.push(new Uint8Array(5), new Uint8Array(5)))
             ],
             ['need the option colour', () => high.push({data: grey, format: 'rgba'}, noise)],
             ['unknown pooling', () => plain.pool('mode')],
             ['no column', () => plain.pool('mean', 'psnr_z')],
             ['is not a y4m file', () => parseY4m(bytesOf('text.mp4'))],
             ['truncated: frame 3', () => score('film_ref.y4m', 'truncated.y4m')],
    ]) {
        const message = await refusal(action);
        check(`module: message with ${words}`, message.includes(words), message);
    }
    plain.close();
    check('module: use after close', (await refusal(() => plain.pool())).includes('closed'));
}

/* ---- the page ---- */

/* A page in Chromium, which is controlled with its debugging protocol: JSON messages that end with a byte of 0. */
async function openPage(reference, encodes, option) {
    const flags = [
        '--headless=new', '--no-sandbox', '--disable-gpu', '--remote-debugging-pipe', `--user-data-dir=${work}/profile`
    ];
    const child = spawn(
        browser, flags, {stdio: ['ignore', 'ignore', 'ignore', 'pipe', 'pipe'], env: {...process.env, HOME: work}});
    let received = '', count = 0;
    const waiting = new Map(), messages = [];
    child.stdio[4].on('data', (data) => {
        const parts = (received + data).split('\0');
        received = parts.pop();
        for (const part of parts) {
            const message = JSON.parse(part);
            if (message.id) {
                waiting.get(message.id)(message);
            } else if (message.method === 'Runtime.consoleAPICalled') {
                messages.push(message.params.args.map((a) => a.value ?? a.description).join(' '));
            } else if (message.method === 'Runtime.exceptionThrown') {
                messages.push(
                    message.params.exceptionDetails.exception?.description ?? message.params.exceptionDetails.text);
            } else if (message.method === 'Log.entryAdded') {
                messages.push(message.params.entry.text);
            }
        }
    });
    let sessionId;
    const call = (method, params = {}) => new Promise((ok, no) => {
        const id = ++count;
        waiting.set(id, (m) => (m.error ? no(new Error(`${method}: ${m.error.message}`)) : ok(m.result)));
        child.stdio[3].write(`${JSON.stringify({id, method, params, sessionId})}\0`);
    });
    const evaluate = async (expression) => {
        const {result, exceptionDetails} =
            await call('Runtime.evaluate', {expression, returnByValue: true, awaitPromise: true});
        if (exceptionDetails) throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text);
        return result.value;
    };
    const until = async (expression) => {
        for (const end = Date.now() + 120000; Date.now() < end; await new Promise((ok) => setTimeout(ok, 50)))
            if (await evaluate(expression)) return;
        throw new Error(`waited for ${expression}: ${await evaluate('document.getElementById("state").textContent')}`);
    };
    try {
        const {targetId} = await call('Target.createTarget', {url: 'about:blank'});
        ({sessionId} = await call('Target.attachToTarget', {targetId, flatten: true}));
        for (const domain of ['Page', 'Runtime', 'Log', 'DOM']) await call(`${domain}.enable`);
        const [width, height] = (option.size ?? '1100x1300').split('x').map(Number);
        await call('Emulation.setDeviceMetricsOverride', {width, height, deviceScaleFactor: 1, mobile: width < 600});
        if (option.dark)
            await call('Emulation.setEmulatedMedia', {features: [{name: 'prefers-color-scheme', value: 'dark'}]});
        if (option.url) {
            await call('Page.navigate', {url: option.url});
            await until('document.title === "done"');
            return {state: '', runs: [], messages, text: await evaluate('document.body.textContent')};
        }
        await call('Page.navigate', {url: `file://${build}/web/vmaf.html`});
        await until('document.readyState === "complete" && document.getElementById("start")');
        const {root} = await call('DOM.getDocument');
        for (const [id, list] of [['reference', [reference]], ['encodes', encodes]]) {
            const {nodeId} = await call('DOM.querySelector', {nodeId: root.nodeId, selector: `#${id}`});
            await call('DOM.setFileInputFiles', {nodeId, files: list.map((f) => `${work}/${f}`)});
        }
        if (option.model) await evaluate(`document.getElementById('model').value = ${JSON.stringify(option.model)}`);
        if (option.rate) await evaluate(`document.getElementById('rate').value = ${JSON.stringify(option.rate)}`);
        await evaluate('document.getElementById("start").click()');
        if (option.cancel) {
            await until('runs.some((r) => r.scores.length)');
            await evaluate('document.getElementById("cancel").click()');
        }
        await until('document.body.dataset.done === "yes"');
        await new Promise((ok) => setTimeout(ok, 100));
        const seen = await evaluate(`(() => {
            const canvas = document.getElementById('curve'), box = canvas.getBoundingClientRect();
            const ink = () => canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height)
                .data.filter((v, i) => i % 4 === 3 && v).length;
            const at = (part, type) => canvas.dispatchEvent(new PointerEvent(type,
                { clientX: box.left + 40 + (box.width - 50) * part, clientY: box.top + 40, bubbles: true }));
            const all = canvas.dataset.view, inked = ink();
            at(0.25, 'pointerdown'); at(0.5, 'pointermove'); at(0.75, 'pointerup');
            const zoomed = canvas.dataset.view, tip = document.getElementById('tip').textContent;
            document.getElementById('all').click();
            canvas.dispatchEvent(new PointerEvent('pointerleave'));
            return {
                state: document.getElementById('state').textContent,
                all, zoomed, again: canvas.dataset.view, inked, tip,
                wide: document.documentElement.scrollWidth <= innerWidth,
                pictures: [...document.querySelectorAll('#pictures figcaption')].map((c) => c.textContent),
                runs: runs.map(({ name, scores, error, set, fps, done }) => ({ name, scores, error, set, fps, done })),
            };
        })()`);
        if (option.screenshot) {
            const {data} = await call('Page.captureScreenshot', {captureBeyondViewport: true});
            fs.writeFileSync(option.screenshot, Buffer.from(data, 'base64'));
        }
        return {...seen, messages};
    } catch (error) { return {failure: error.message, state: '', runs: [], messages}; } finally {
        const ended = new Promise((ok) => child.on('exit', ok));
        child.kill();
        await ended;
    }
}

/* A page in Firefox, which is controlled with Marionette: JSON messages over TCP, each after its length and a colon. */
async function openFirefox(reference, encodes, option) {
    const profile = `${work}/firefox`, port = `${profile}/MarionetteActivePort`;
    fs.rmSync(profile, {recursive: true, force: true});
    fs.mkdirSync(profile, {recursive: true});
    fs.writeFileSync(`${profile}/user.js`, 'user_pref("marionette.port", 0);\n');
    const child = spawn(firefox, ['--headless', '--marionette', '--no-remote', '--profile', profile], {
        stdio: 'ignore',
        env: {...process.env, HOME: work}
    });
    const wait = () => new Promise((ok) => setTimeout(ok, 50));
    const end = Date.now() + 120000, waiting = new Map();
    let socket, received = Buffer.alloc(0), count = 0;
    const call = (method, params = {}) => new Promise((ok, no) => {
        const message = JSON.stringify([0, ++count, method, params]);
        waiting.set(count, ([, , error, result]) => error ? no(new Error(`${method}: ${error.message}`)) : ok(result));
        socket.write(`${Buffer.byteLength(message)}:${message}`);
    });
    const receive = (data) => {
        received = Buffer.concat([received, data]);
        for (let colon; (colon = received.indexOf(':')) > 0;) {
            const start = colon + 1, size = parseInt(received.subarray(0, colon));
            if (received.length < start + size) return;
            const message = JSON.parse(received.subarray(start, start + size));
            received = received.subarray(start + size);
            if (Array.isArray(message)) waiting.get(message[1])(message);
        }
    };
    /* The variables of the page are visible only to code that the page itself evaluates. */
    const evaluate = async (code) =>
        JSON.parse((await call('WebDriver:ExecuteScript', {
                       script: 'return window.eval(arguments[0])',
                       args: [`JSON.stringify(${code})`]
                   })).value);
    const until = async (code) => {
        for (; Date.now() < end; await wait())
            if (await evaluate(code)) return;
        throw new Error(`waited for ${code}: ${await evaluate('document.body.textContent')}`);
    };
    try {
        for (; !fs.existsSync(port) || !fs.readFileSync(port, 'utf8'); await wait())
            if (Date.now() > end || child.exitCode !== null) throw new Error('Firefox did not start');
        socket = net.connect(parseInt(fs.readFileSync(port, 'utf8')), '127.0.0.1').on('data', receive);
        await call('WebDriver:NewSession');
        await call('WebDriver:Navigate', {url: option.url ?? `file://${build}/web/vmaf.html`});
        if (option.url) {
            await until('document.title === "done"');
            return {text: await evaluate('document.body.textContent')};
        }
        for (const [id, list] of [['reference', [reference]], ['encodes', encodes]]) {
            const {value} = await call('WebDriver:FindElement', {using: 'css selector', value: `#${id}`});
            const text = list.map((f) => `${work}/${f}`).join('\n');
            await call('WebDriver:ElementSendKeys', {id: Object.values(value)[0], text});
        }
        if (option.model) await evaluate(`document.getElementById('model').value = ${JSON.stringify(option.model)}`);
        await evaluate('document.getElementById("start").click()');
        await until('document.body.dataset.done === "yes"');
        return await evaluate(`({
            state: document.getElementById('state').textContent,
            runs: runs.map(({ name, scores, error, done }) => ({ name, scores, error, done })),
        })`);
    } catch (error) { return {failure: error.message, runs: []}; } finally {
        socket?.destroy();
        const ended = new Promise((ok) => child.on('exit', ok));
        if (child.exitCode === null) {
            child.kill();
            await ended;
        }
    }
}

async function testFirefox() {
    const clips = [['film', 'vmaf_v0.6.1'], ['odd', 'vmaf_v1.0.16_3d0h'], ['ten', 'vmaf_v0.6.1']];
    for (const [name, model] of process.env.DEPTH ? clips : clips.slice(0, 1)) {
        const files = [`${name}_ref.y4m`, `${name}_dist.y4m`];
        const seen = await openFirefox(files[0], [files[1]], {model});
        check(`Firefox: ${name}: no failure`, !seen.failure, seen.failure);
        check(
            `Firefox: scores of ${name}`,
            seen.runs[0]?.done && withoutFps(seen.runs[0].done.exact) === withoutFps(native(...files, model)),
            seen.state);
    }
}

/* ---- the module with threads, in a page that is cross-origin isolated ---- */

/* The main thread of a page must not wait, so a worker calls the module. */
async function testIsolated(name, open) {
    const page = `<link rel="icon" href="data:,"><body></body><script>
        new Worker('worker', { type: 'module' }).onmessage = ({ data }) => {
            document.body.textContent = data;
            document.title = 'done';
        };
    </script>`;
    const worker = `
        import { VMAF, parseY4m, y4mFrames } from './vmaf.mjs';
        const reports = [];
        try {
            if (!crossOriginIsolated) throw new Error('the page is not isolated');
            const load = async (name) => (await fetch(name)).blob();
            const blobs = [await load('film_ref.y4m'), await load('film_dist.y4m')];
            const head = parseY4m(new Uint8Array(await blobs[0].slice(0, 4096).arrayBuffer()));
            for (const threads of [1, 3]) {
                const vmaf = await VMAF.create({ ...head, module: fetch('vmafgpu_threads.wasm'), threads });
                const frames = blobs.map(y4mFrames);
                for (;;) {
                    const [a, b] = await Promise.all(frames.map((f) => f.next()));
                    if (a.done || b.done) break;
                    await vmaf.push(a.value, b.value);
                }
                vmaf.flush();
                reports.push(vmaf.report('json', { digits: Infinity }));
                vmaf.close();
            }
        } catch (error) { reports.push(error.message); }
        postMessage(JSON.stringify(reports));`;
    const types = {'': 'text/html', worker: 'text/javascript', mjs: 'text/javascript', wasm: 'application/wasm'};
    const server = http.createServer((request, response) => {
        const file = path.basename(request.url), folder = file.endsWith('.y4m') ? work : `${build}/web`;
        response.writeHead(200, {
            'Content-Type': types[file.split('.').pop()] ?? 'application/octet-stream',
            'Cross-Origin-Opener-Policy': 'same-origin',
            'Cross-Origin-Embedder-Policy': 'require-corp',
        });
        response.end(
            file === ''       ? page :
            file === 'worker' ? worker :
                                fs.readFileSync(`${folder}/${file}`));
    });
    await new Promise((ok) => server.listen(0, '127.0.0.1', ok));
    const seen = await open('', [], {url: `http://127.0.0.1:${server.address().port}/`});
    server.close();
    const expected = withoutFps(native('film_ref.y4m', 'film_dist.y4m', 'vmaf_v0.6.1'));
    const reports = seen.text ? JSON.parse(seen.text) : [];
    check(`${name}: isolated page`, reports.length === 2, seen.failure ?? seen.text);
    reports.forEach((report, i) => {
        check(`${name}: ${[1, 3][i]} threads`, withoutFps(report) === expected, report.slice(0, 80));
    });
}

/* Opens the page and compares its scores with those of the tool for the y4m files that ffmpeg decoded. */
async function comparePage(reference, encodes, option = {}) {
    const what = `page: ${encodes}`, seen = await openPage(reference, encodes, option),
          decoded = (f) => (f.endsWith('.y4m') ? f : `${f}.y4m`);
    check(`${what}: no failure`, !seen.failure, seen.failure);
    check(`${what}: no message in the console`, seen.messages.length === 0, seen.messages.join('; '));
    check(`${what}: no error`, seen.runs.every((r) => !r.error), seen.state);
    check(`${what}: curve is drawn`, seen.inked > 500, seen.inked);
    check(`${what}: page fits the width of the window`, seen.wide);
    for (const run of seen.runs) {
        const expected = native(decoded(reference), decoded(run.name), option.model ?? 'vmaf_v0.6.1');
        check(`page: scores of ${run.name}`, run.done && withoutFps(run.done.exact) === withoutFps(expected));
        check(`page: json of ${run.name}`, run.done && JSON.parse(run.done.json).frames.length === run.scores.length);
        check(`page: csv of ${run.name}`, run.done && run.done.csv.startsWith('Frame,'));
    }
    return seen;
}

async function refusedPage(words, reference, encode) {
    const seen = await openPage(reference, [encode], {});
    check(`page: ${encode}: message with ${words}`, seen.state.includes(words), seen.failure ?? seen.state);
    check(`page: ${encode}: no message in the console`, seen.messages.length === 0, seen.messages.join('; '));
}

async function testPage() {
    const film =
        await comparePage('film_ref.y4m', ['film_dist.y4m', 'film_ref.y4m'], {screenshot: `${build}/web_light.png`});
    check(
        'page: zoom', film.all === '0-30' && film.zoomed === '7-23' && film.again === '0-30',
        `${film.all} ${film.zoomed} ${film.again}`);
    check('page: tip', /^frame 1[45]\n/.test(film.tip ?? ''), film.tip);
    check('page: worst frames', film.pictures?.length === 8, film.pictures);
    await comparePage('odd_ref.y4m', ['odd_dist.y4m'], {model: 'vmaf_v1.0.16_3d0h'});
    await comparePage('ten_ref.y4m', ['ten_dist.y4m'], {size: '390x900', screenshot: `${build}/web_phone.png`});
    await refusedPage('truncated: frame 3', 'film_ref.y4m', 'truncated.y4m');
    await refusedPage('the width differs', 'film_ref.y4m', 'small_dist.y4m');
    await refusedPage('the bit depth differs', 'film_ref.y4m', 'ten_dist.y4m');
    await refusedPage('the frame rate differs', 'film_ref.y4m', 'rate.y4m');
    await refusedPage('is empty', 'film_ref.y4m', 'empty.y4m');
    await refusedPage('the other is not', 'film_ref.y4m', 'text.mp4');
    const cancelled = await openPage('film_ref.y4m', ['film_dist.y4m'], {cancel: true});
    check('page: cancel', cancelled.state.includes('cancelled') || cancelled.runs[0]?.done, cancelled.failure);
    if (!fs.existsSync(`${work}/ten.webm.y4m`)) return;
    await comparePage('good.mp4', ['bad.mp4', 'bad.webm'], {dark: true, screenshot: `${build}/web_dark.png`});
    await comparePage('ten.webm', ['ten_bad.webm']);
    await comparePage('odd.webm', ['odd_bad.webm']);
    await refusedPage('truncated', 'good.mp4', 'truncated.webm');
    await refusedPage('cannot play text.mp4', 'good.mp4', 'text.mp4');
    await refusedPage('the size differs', 'good.mp4', 'odd.webm');
    await refusedPage('the frame rate differs', 'good.mp4', 'rate.mp4');
    await refusedPage('the frame format differs', 'good.mp4', 'ten.webm');
}

await testModule();
if (browser) await testPage();
if (browser) await testIsolated('Chromium', openPage);
if (firefox) await testFirefox();
if (firefox) await testIsolated('Firefox', openFirefox);
console.log(`${passed} passed, ${failed} failed`);
process.exitCode = failed > 0 ? 1 : 0;
