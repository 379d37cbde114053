/* Scores one encode. Follows the code of vmaf.mjs in a classic worker, because browsers do not start module workers for
 * pages from files. Messages to the worker: { files } for y4m, or { open }, { pair }, ..., { end }. */
const WORST = 4, THUMBNAIL = 480;
let vmaf, recent = [], worst = [], unsent = [], sent = 0, spent = 0, scored = 0;

const say = (message, transfer = []) => postMessage(message, transfer);

/* Returns a small RGB picture of a frame of planes, with the colours of BT.709. */
function drawPlanes(bytes, width, height, canvas) {
    const {bitDepth, chroma} = vmaf, samples = bitDepth > 8 ? new Uint16Array(bytes.slice().buffer) : bytes;
    const cw = chroma === 444 ? width : (width + 1) >> 1, ch = chroma === 420 ? (height + 1) >> 1 : height;
    const g = canvas.getContext('2d'), image = g.createImageData(canvas.width, canvas.height),
          unit = 1 << (bitDepth - 8);
    for (let y = 0, out = 0; y < canvas.height; y++) {
        const row = Math.floor(y * height / canvas.height), crow = chroma === 420 ? row >> 1 : row;
        for (let x = 0; x < canvas.width; x++, out += 4) {
            const column = Math.floor(x * width / canvas.width), ccolumn = chroma === 444 ? column : column >> 1;
            const at = width * height + crow * cw + ccolumn;
            const l = 1.164 * (samples[row * width + column] / unit - 16);
            const u = chroma === 400 ? 0 : samples[at] / unit - 128,
                  v = chroma === 400 ? 0 : samples[at + cw * ch] / unit - 128;
            image.data.set([l + 1.793 * v, l - 0.213 * u - 0.533 * v, l + 2.112 * u, 255], out);
        }
    }
    g.putImageData(image, 0, 0);
}

function thumbnail(frame) {
    const scale = Math.min(1, THUMBNAIL / vmaf.width);
    const canvas =
        new OffscreenCanvas(Math.max(1, Math.round(vmaf.width * scale)), Math.max(1, Math.round(vmaf.height * scale)));
    if (frame instanceof Uint8Array)
        drawPlanes(frame, vmaf.width, vmaf.height, canvas);
    else
        canvas.getContext('2d').drawImage(frame, 0, 0, canvas.width, canvas.height);
    return canvas.transferToImageBitmap();
}

const release = (pair) => pair.frames.forEach((frame) => frame.close?.());

function take(scores) {
    for (const s of scores) {
        unsent.push({index: s.index, score: s.score});
        const pair = recent.find((p) => p.index === s.index);
        const isWorse = worst.length < WORST || s.score < worst[worst.length - 1].score;
        if (pair && isWorse && !worst.some((w) => Math.abs(w.index - s.index) < 2 && w.score <= s.score)) {
            worst = worst.filter((w) => Math.abs(w.index - s.index) >= 2);
            worst.push({index: s.index, score: s.score, images: pair.frames.map(thumbnail), isNew: true});
            worst.sort((a, b) => a.score - b.score);
            worst.splice(WORST);
        }
        recent = recent.filter((p) => p.index > s.index || release(p));
    }
}

/* Sends what is new, at most 20 times a second unless `isLast` is set. */
function report(isLast) {
    const now = performance.now();
    if (!isLast && now - sent < 50) return;
    sent = now;
    const pictures = worst.map(({index, score, images, isNew}) => ({index, score, images: isNew ? images : null}));
    const transfer = pictures.flatMap((p) => p.images ?? []);
    worst.forEach((w) => {
        w.isNew = false;
    });
    say({scores: unsent, mean: unsent.length || scored ? vmaf.pool('mean') : NaN, fps: 1000 * scored / spent, pictures},
        transfer);
    unsent = [];
}

async function push(reference, distorted) {
    recent.push({index: scored, frames: [reference, distorted]});
    const from = performance.now(), scores = await vmaf.push(reference, distorted);
    spent += performance.now() - from;
    scored++;
    take(scores);
    report(false);
}

function finish(warning) {
    if (!scored) throw new Error('there are no frames to compare');
    take(vmaf.flush());
    recent.forEach(release);
    report(true);
    const fps = 1000 * scored / spent;
    say({
        done: {
            warning,
            fps,
            frames: scored,
            pooled: {
                mean: vmaf.pool('mean'),
                harmonic_mean: vmaf.pool('harmonic_mean'),
                min: vmaf.pool('min'),
                p5: vmaf.pool(5)
            },
            json: vmaf.report('json', {fps}),
            csv: vmaf.report('csv', {fps}),
            exact: vmaf.report('json', {digits: Infinity}),
        },
    });
    vmaf.close();
}

async function open(options) {
    vmaf = await VMAF.create(options);
    say({opened: {instructionSet: vmaf.instructionSet, total: options.total}});
}

async function scoreFiles({files, module, model}) {
    const heads =
        await Promise.all(files.map(async (f) => parseY4m(new Uint8Array(await f.slice(0, 4096).arrayBuffer()))));
    const names = {width: 'width', height: 'height', bitDepth: 'bit depth', chroma: 'chroma format'};
    for (const [key, name] of Object.entries(names))
        if (heads[0][key] !== heads[1][key])
            throw new Error(`the ${name} differs from that of the reference (${heads[1][key]}, not ${heads[0][key]})`);
    if (Math.abs(heads[0].fps / heads[1].fps - 1) > 1e-3)
        throw new Error(`the frame rate differs from that of the reference (${heads[1].fps.toFixed(3)}, not ${
            heads[0].fps.toFixed(3)})`);
    const count = (i) => Math.floor((files[i].size - heads[i].headerSize) / (heads[i].frameSize + 6));
    await open({...heads[0], module, model, total: Math.min(count(0), count(1))});
    const frames = files.map(y4mFrames);
    for (;;) {
        const [a, b] = await Promise.all(frames.map((f) => f.next()));
        if (a.done !== b.done)
            return finish(`the ${a.done ? 'encode' : 'reference'} has more frames, which are ignored`);
        if (a.done) return finish();
        await push(a.value, b.value);
    }
}

onmessage = async ({data}) => {
    try {
        if (data.files)
            await scoreFiles(data);
        else if (data.open)
            await open(data.open);
        else if (data.pair)
            await push(...data.pair), say({next: true});
        else if (data.end)
            finish(data.end.warning);
    } catch (error) { say({error: error.message ?? String(error)}); }
};
