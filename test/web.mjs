/* Opens vmaf.html in headless Chromium, chooses files, starts, and prints what the page shows, as JSON.
 *
 *     node test/web.mjs CHROMIUM FOLDER PAGE REFERENCE ENCODES [OPTION...]
 *
 * FOLDER is for the profile of the browser. ENCODES is a list of files, separated by commas. Options: rate=FPS,
 * model=NAME, size=WIDTHxHEIGHT, dark, screenshot=FILE, cancel (clicks Cancel after the first scores).
 */
import { spawn } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';

const [browser, folder, page, reference, encodes, ...rest] = process.argv.slice(2);
const option = Object.fromEntries(rest.map((text) => (text.includes('=') ? text.split('=') : [text, true])));
const flags = ['--headless=new', '--no-sandbox', '--disable-gpu', '--remote-debugging-pipe', `--user-data-dir=${folder}`];
const child = spawn(browser, flags, { stdio: ['ignore', 'ignore', 'ignore', 'pipe', 'pipe'], env: { ...process.env, HOME: folder } });

/* The protocol: JSON messages that end with a byte of 0. */
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
            messages.push(message.params.exceptionDetails.exception?.description ?? message.params.exceptionDetails.text);
        } else if (message.method === 'Log.entryAdded') {
            messages.push(message.params.entry.text);
        }
    }
});
let sessionId;
const call = (method, params = {}) => new Promise((ok, no) => {
    const id = ++count;
    waiting.set(id, (m) => (m.error ? no(new Error(`${method}: ${m.error.message}`)) : ok(m.result)));
    child.stdio[3].write(`${JSON.stringify({ id, method, params, sessionId })}\0`);
});
const evaluate = async (expression) => {
    const { result, exceptionDetails } = await call('Runtime.evaluate', { expression, returnByValue: true, awaitPromise: true });
    if (exceptionDetails) throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text);
    return result.value;
};
const until = async (expression) => {
    for (const end = Date.now() + 120000; Date.now() < end; await new Promise((ok) => setTimeout(ok, 50)))
        if (await evaluate(expression)) return;
    throw new Error(`waited for ${expression}: ${await evaluate('document.getElementById("state").textContent')}`);
};

try {
    const { targetId } = await call('Target.createTarget', { url: 'about:blank' });
    ({ sessionId } = await call('Target.attachToTarget', { targetId, flatten: true }));
    for (const domain of ['Page', 'Runtime', 'Log', 'DOM']) await call(`${domain}.enable`);
    const [width, height] = (option.size ?? '1100x1300').split('x').map(Number);
    await call('Emulation.setDeviceMetricsOverride', { width, height, deviceScaleFactor: 1, mobile: width < 600 });
    if (option.dark) await call('Emulation.setEmulatedMedia', { features: [{ name: 'prefers-color-scheme', value: 'dark' }] });
    await call('Page.navigate', { url: `file://${path.resolve(page)}` });
    await until('document.readyState === "complete" && document.getElementById("start")');
    const { root } = await call('DOM.getDocument');
    for (const [id, list] of [['reference', [reference]], ['encodes', encodes.split(',')]]) {
        const { nodeId } = await call('DOM.querySelector', { nodeId: root.nodeId, selector: `#${id}` });
        await call('DOM.setFileInputFiles', { nodeId, files: list.map((f) => path.resolve(f)) });
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
        const ink = () => canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data.filter((v, i) => i % 4 === 3 && v).length;
        const at = (part, type) => canvas.dispatchEvent(new PointerEvent(type, { clientX: box.left + 40 + (box.width - 50) * part, clientY: box.top + 40, bubbles: true }));
        const all = canvas.dataset.view, inked = ink();
        at(0.25, 'pointerdown'); at(0.5, 'pointermove'); at(0.75, 'pointerup');
        const zoomed = canvas.dataset.view, tip = document.getElementById('tip').textContent;
        document.getElementById('all').click();
        canvas.dispatchEvent(new PointerEvent('pointerleave'));
        return {
            state: document.getElementById('state').textContent, all, zoomed, again: canvas.dataset.view, inked, tip,
            wide: document.documentElement.scrollWidth <= innerWidth,
            pictures: [...document.querySelectorAll('#pictures figcaption')].map((c) => c.textContent),
            runs: runs.map(({ name, scores, error, set, fps, done }) => ({ name, scores, error, set, fps, done })),
        };
    })()`);
    if (option.screenshot) {
        const { data } = await call('Page.captureScreenshot', { captureBeyondViewport: true });
        fs.writeFileSync(option.screenshot, Buffer.from(data, 'base64'));
    }
    console.log(JSON.stringify({ ...seen, messages }));
} catch (error) {
    console.log(JSON.stringify({ failure: error.message, messages }));
    process.exitCode = 1;
} finally {
    child.kill();
}
