/* The code of the page: files, workers, videos, curves. */
'use strict';
const $ = (id) => document.getElementById(id),
      COLOURS = ['#1f77d0', '#d9622b', '#2c9a4b', '#a04bc4', '#c2a30a', '#14a3a8'];
const packed = Uint8Array.from(atob($('wasm').textContent.replace(/\s/g, '')), (c) => c.charCodeAt(0));
const unpack = () =>
    new Response(new Blob([packed]).stream().pipeThrough(new DecompressionStream('gzip'))).arrayBuffer();
let module; /* the bytes of the module, from the first start on */
const workerURL = URL.createObjectURL(new Blob([$('code').textContent], {type: 'text/javascript'}));
let files = {reference: null, encodes: []}, runs = [], view = null, session = 0;

function say(text, isBad) {
    $('state').textContent = text;
    $('state').className = isBad ? 'bad' : '';
}

/* ---- files ---- */

function show() {
    const describe = (list) => list.map((f) => f.name).join(', ');
    if (files.reference) $('zone0').querySelector('span').textContent = files.reference.name;
    if (files.encodes.length) $('zone1').querySelector('span').textContent = describe(files.encodes);
    $('start').disabled = !files.reference || !files.encodes.length;
}
$('reference').onchange = (e) => {
    files.reference = e.target.files[0] ?? files.reference;
    show();
};
$('encodes').onchange = (e) => {
    if (e.target.files.length) files.encodes = [...e.target.files];
    show();
};
for (const zone of document.querySelectorAll('.zone')) {
    zone.ondragover = (e) => {
        e.preventDefault();
        zone.classList.add('over');
    };
    zone.ondragleave = () => zone.classList.remove('over');
    zone.ondrop = (e) => {
        e.preventDefault();
        zone.classList.remove('over');
        const given = [...e.dataTransfer.files];
        if (!given.length) return;
        if (zone.id === 'zone0') files.reference = given.shift();
        if (given.length) files.encodes = given;
        show();
    };
}
document.ondragover = document.ondrop = (e) => e.preventDefault();

/* ---- scoring ---- */

/* Starts a worker. `ask` sends a message and returns a promise of the answer with the given key. */
function startWorker(run) {
    const worker = new Worker(workerURL);
    let waiting = null;
    run.worker = worker;
    const fail = (message) => {
        run.error = message;
        waiting?.no(new Error(message));
        waiting = null;
    };
    worker.onerror = (e) => fail(e.message || 'the worker did not start');
    worker.onmessage = ({data}) => {
        heard(run, data);
        if (data.error)
            fail(data.error);
        else if (waiting && data[waiting.key]) {
            waiting.ok(data[waiting.key]);
            waiting = null;
        }
    };
    run.ask = (message, key, transfer = []) => new Promise((ok, no) => {
        if (run.error) return no(new Error(run.error));
        waiting = {key, ok, no};
        worker.postMessage(message, transfer);
    });
}

function heard(run, m) {
    if (m.opened) {
        run.total = m.opened.total ?? run.total;
        run.set = m.opened.instructionSet;
    }
    if (m.scores) {
        for (const s of m.scores) run.scores[s.index] = s.score;
        run.mean = m.mean;
        run.fps = m.fps;
        run.pictures =
            m.pictures.map((p) => ({...p, images: p.images ?? run.pictures.find((q) => q.index === p.index).images}));
    }
    if (m.done) run.done = m.done;
    requestAnimationFrame(draw);
}

/* Opens a video and waits until its first frame is decoded. */
async function openVideo(file) {
    const video = Object.assign(document.createElement('video'), {muted: true, preload: 'auto', playsInline: true});
    video.src = URL.createObjectURL(file);
    await new Promise((ok, no) => {
        video.onloadeddata = ok;
        video.onerror = () => no(new Error(
            `this browser cannot play ${file.name} (unsupported codec or container, or damaged); convert it to y4m`));
    });
    if (!video.videoWidth) throw new Error(`${file.name} contains no video`);
    return video;
}

function closeVideo(video) {
    URL.revokeObjectURL(video.src);
    video.onerror = null;
    video.removeAttribute('src');
    video.load();
}

/* Returns the frame at a time. Browsers may end a seek before the new frame can be read. So if the frame does not begin
 * within `period` seconds before the time, waits for another one, for at most half a second. */
async function frameAt(video, time, period = Infinity) {
    await new Promise((ok, no) => {
        video.onseeked = ok;
        video.onerror = () => no(new Error('the video is damaged or truncated'));
        video.currentTime = time;
    });
    for (let tries = 0;; tries++) {
        let frame;
        try {
            frame = new VideoFrame(video);
        } catch { throw new Error('a frame could not be decoded; the video is damaged or truncated'); }
        const late = time - frame.timestamp / 1e6;
        if ((late >= 0 && late < period) || period === Infinity || tries === 25) return frame;
        frame.close();
        await new Promise((ok) => setTimeout(ok, 20));
    }
}

/* Returns the time of the first frame and the frame rate, from the times of the first frames. */
async function timing(video) {
    const times = [];
    for (let t = 0; t < Math.min(video.duration, 1.5) && times.length < 7; t += 1 / 250) {
        const frame = await frameAt(video, t), time = frame.timestamp / 1e6;
        frame.close();
        if (!times.length || time > times[times.length - 1]) times.push(time);
    }
    if (times.length < 2) return {first: times[0] ?? 0, rate: 25};
    const periods = times.slice(1).map((time, i) => time - times[i]).sort((a, b) => a - b);
    const typical = periods.filter((p) => p < 1.5 * periods[0]); /* without gaps after frames that were missed */
    const raw = typical.length / typical.reduce((a, b) => a + b, 0);
    const usual = [24000 / 1001, 24, 25, 30000 / 1001, 30, 48, 50, 60000 / 1001, 60, 100, 120000 / 1001, 120];
    const near = usual.reduce((a, b) => (Math.abs(b - raw) < Math.abs(a - raw) ? b : a));
    return {first: times[0], rate: Math.abs(near / raw - 1) < 0.003 ? near : raw};
}

async function scoreVideos(run, reference, isCurrent) {
    if (typeof VideoFrame === 'undefined') throw new Error('this browser has no WebCodecs; convert the videos to y4m');
    const videos = [];
    try {
        for (const file of [reference, run.file]) videos.push(await openVideo(file));
        const [r, d] = videos, given = parseFloat($('rate').value);
        if (r.videoWidth !== d.videoWidth || r.videoHeight !== d.videoHeight)
            throw new Error(`the size differs from that of the reference (${d.videoWidth}x${d.videoHeight}, not ${
                r.videoWidth}x${r.videoHeight})`);
        const times = [await timing(r), await timing(d)];
        if (!given && Math.abs(times[0].rate / times[1].rate - 1) > 2e-3)
            throw new Error(`the frame rate differs from that of the reference (${times[1].rate.toFixed(3)}, not ${
                times[0].rate.toFixed(3)})`);
        const rate = given || times[0].rate,
              count = videos.map((v, i) => Math.round((v.duration - times[i].first) * rate));
        /* The durations of containers can be wrong by a frame, so the times of the frames decide where a video ends. */
        run.total = Math.min(...count);
        const last = [-1, -1];
        /* The middle of the next frame, in seconds. It depends on the previous frame, so that errors do not add up. */
        const next = (k) => (last[k] < 0 ? times[k].first + 0.5 / rate : last[k] / 1e6 + 1.5 / rate);
        let ended = [];
        for (let i = 0; i < run.total + 2; i++) {
            const pair = await Promise.all(videos.map((v, k) => frameAt(v, Math.min(next(k), v.duration), 1 / rate)));
            if (!isCurrent()) return pair.forEach((f) => f.close());
            ended = pair.map((f, k) => f.timestamp <= last[k]);
            if (ended.some(Boolean)) {
                pair.forEach((f) => f.close());
                if (i + 1 >= run.total) break;
                throw new Error(`frame ${i} is shown twice; the frame rate ${rate.toFixed(3)} is wrong or varies`);
            }
            if (i && pair.some((f, k) => f.timestamp - last[k] > 1.7e6 / rate)) {
                pair.forEach((f) => f.close());
                throw new Error(
                    `a frame before frame ${i} is missing; the frame rate ${rate.toFixed(3)} is wrong or varies`);
            }
            if (!i) {
                const [a, b] = pair.map(kindOf);
                if (!a.isRGB && !b.isRGB && (a.bitDepth !== b.bitDepth || a.chroma !== b.chroma))
                    throw new Error(`the frame format differs from that of the reference (${pair[1].format}, not ${
                        pair[0].format})`);
                await run.ask(
                    {
                        open: {
                            ...a,
                            module,
                            model: $('model').value,
                            total: run.total,
                            colour: a.isRGB || b.isRGB ? {} : undefined
                        }
                    },
                    'opened');
            }
            pair.forEach((f, k) => {
                last[k] = f.timestamp;
            });
            await run.ask({pair}, 'next', pair);
        }
        const warning =
            ended[0] === ended[1] ? '' : `the ${ended[0] ? 'encode' : 'reference'} has more frames, which are ignored`;
        await run.ask({end: {warning}}, 'done');
    } finally { videos.forEach(closeVideo); }
}

/* The same as formatOf() in the module, whose code runs only in the workers. */
function kindOf(frame) {
    const parts = /^(I4(\d\d)|NV12)(P(\d+))?$/.exec(frame.format ?? '');
    return {
        width: frame.visibleRect.width,
        height: frame.visibleRect.height,
        chroma: parts?.[2] ? 400 + +parts[2] : 420,
        bitDepth: +(parts?.[4] ?? 8),
        isRGB: !parts,
    };
}

async function score(run, isCurrent) {
    startWorker(run);
    try {
        const empty = [files.reference, run.file].find((f) => !f.size);
        if (empty) throw new Error(`${empty.name} is empty`);
        const isY4m = await Promise.all(
            [files.reference, run.file].map(async (f) => (await f.slice(0, 10).text()) === 'YUV4MPEG2 '));
        if (isY4m[0] !== isY4m[1]) throw new Error('one of the files is y4m and the other is not; convert both to y4m');
        if (isY4m[0])
            await run.ask({files: [files.reference, run.file], module, model: $('model').value}, 'done');
        else
            await scoreVideos(run, files.reference, isCurrent);
    } catch (error) { run.error = error.message; }
    run.worker.terminate();
    draw();
}

$('start').onclick = async () => {
    module ??= new Uint8Array(await unpack());
    const own = ++session, isCurrent = () => own === session, names = files.encodes.map((f) => f.name);
    runs = files.encodes.map((file, i) => ({
                                 file,
                                 name: names[i],
                                 colour: COLOURS[i % COLOURS.length],
                                 scores: [],
                                 pictures: [],
                                 total: 0,
                             }));
    view = null;
    document.body.dataset.done = '';
    $('start').disabled = true;
    $('cancel').disabled = $('progress').hidden = $('result').hidden = false;
    draw();
    /* As many encodes at a time as there are processors; the browser decodes in other threads. */
    const queue = [...runs], next = async () => {
        while (queue.length && isCurrent()) await score(queue.shift(), isCurrent);
    };
    await Promise.all(Array.from({length: Math.max(1, Math.min(8, navigator.hardwareConcurrency || 2))}, next));
    if (isCurrent()) end();
};

function end() {
    $('start').disabled = $('progress').hidden = true;
    $('cancel').disabled = true;
    draw();
    show();
    document.body.dataset.done = 'yes';
}

$('cancel').onclick = () => {
    session++;
    for (const run of runs) {
        run.worker?.terminate();
        if (!run.done && !run.error) run.error = 'cancelled';
    }
    end();
};

/* ---- results ---- */

const shownFrames = () => view ?? [0, Math.max(1, ...runs.map((r) => r.scores.length || r.total))];

function draw() {
    const done = runs.reduce((sum, r) => sum + r.scores.length, 0),
          total = runs.reduce((sum, r) => sum + (r.total || 0), 0);
    $('progress').value = total ? done / total : 0;
    const failed = runs.filter((r) => r.error), warned = runs.filter((r) => r.done?.warning);
    const fps = runs.reduce((sum, r) => sum + (r.fps || 0), 0), set = runs.find((r) => r.set)?.set;
    const texts = [...failed.map((r) => `${r.name}: ${r.error}`), ...warned.map((r) => `${r.name}: ${r.done.warning}`)];
    if (done && !failed.length)
        texts.unshift(`${done}${total > done ? ` of about ${total}` : ''} frames, ${fps.toFixed(1)} frames/s (${set})`);
    if (runs.length) say(texts.join('\n') || 'Opening the files ...', failed.length > 0);
    drawRows();
    drawCurve();
    drawPictures();
}

function make(tag, text, properties = {}) {
    return Object.assign(document.createElement(tag), {textContent: text ?? '', ...properties});
}

function save(run, format) {
    const link = make('a', '', {download: `${run.name}.vmaf.${format}`});
    link.href =
        URL.createObjectURL(new Blob([run.done[format]], {type: format === 'json' ? 'application/json' : 'text/csv'}));
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

function drawRows() {
    $('rows').replaceChildren(...runs.map((run) => {
        const row = make('tr'), p = run.done?.pooled ?? {}, name = make('td'), buttons = make('td');
        name.append(make('i', '', {className: 'dot'}), run.name);
        name.firstChild.style.background = run.colour;
        for (const format of run.done ? ['json', 'csv'] : [])
            buttons.append(make('button', format.toUpperCase(), {onclick: () => save(run, format)}), ' ');
        const number = (x) => make('td', Number.isFinite(x) ? x.toFixed(2) : '-', {title: x ?? ''});
        row.append(
            name, make('td', run.scores.length), number(p.mean ?? run.mean), number(p.harmonic_mean), number(p.p5),
            number(p.min), buttons);
        return row;
    }));
}

const MARGIN = {
    left: 40,
    right: 10,
    top: 10,
    bottom: 24
};

function drawCurve() {
    const canvas = $('curve'), box = canvas.getBoundingClientRect(), ratio = devicePixelRatio || 1;
    if (!box.width) return;
    canvas.width = Math.round(box.width * ratio);
    canvas.height = Math.round(box.height * ratio);
    const g = canvas.getContext('2d'), style = getComputedStyle(document.body), [from, to] = shownFrames();
    const values = runs.flatMap((r) => r.scores.slice(from, to)).filter(Number.isFinite);
    const least = values.reduce((a, b) => Math.min(a, b), 100) - 2, grid = least < 60 ? 20 : least < 80 ? 10 : 5;
    const low = Math.max(0, Math.floor(least / grid) * grid), high = 100;
    const w = box.width - MARGIN.left - MARGIN.right, h = box.height - MARGIN.top - MARGIN.bottom;
    const x = (i) => MARGIN.left + w * (i - from) / Math.max(1, to - from - 1),
          y = (s) => MARGIN.top + h * (high - s) / (high - low);
    g.scale(ratio, ratio);
    g.font = '12px system-ui, sans-serif';
    g.fillStyle = style.getPropertyValue('--soft');
    g.strokeStyle = style.getPropertyValue('--line');
    for (let s = low; s <= high; s += grid) {
        g.beginPath();
        g.moveTo(MARGIN.left, y(s));
        g.lineTo(MARGIN.left + w, y(s));
        g.stroke();
        g.textAlign = 'right';
        g.fillText(s, MARGIN.left - 6, y(s) + 4);
    }
    g.textAlign = 'left';
    g.fillText(from, MARGIN.left, box.height - 6);
    g.textAlign = 'right';
    g.fillText(to - 1, MARGIN.left + w, box.height - 6);
    g.lineWidth = 1.75;
    for (const run of runs) {
        /* If there are several frames per pixel, draws their range. */
        const step = Math.max(1, Math.floor((to - from) / (2 * w)));
        g.strokeStyle = g.fillStyle = run.colour;
        g.beginPath();
        for (let i = from; i < Math.min(to, run.scores.length); i += step) {
            const part = run.scores.slice(i, i + step).filter(Number.isFinite);
            for (const s of step > 1 ? [Math.min(...part), Math.max(...part)] : part) g.lineTo(x(i), y(s));
        }
        g.stroke();
        if (run.scores.length === 1) g.fillRect(x(0) - 2, y(run.scores[0]) - 2, 5, 5);
    }
    canvas.dataset.view = `${from}-${to}`;
}

function drawPictures() {
    const wanted =
        runs.flatMap((run) => run.pictures.map((p) => ({...p, run}))).sort((a, b) => a.score - b.score).slice(0, 8);
    const key = (p) => `${runs.indexOf(p.run)} ${p.index}`,
          old = new Map([...$('pictures').children].map((f) => [f.dataset.key, f]));
    $('pictures').replaceChildren(...wanted.map((p) => {
        const figure = old.get(key(p)) ?? make('figure');
        if (figure.dataset.key) return figure;
        const both = make('div');
        for (const image of p.images) {
            const canvas = make('canvas', '', {width: image.width, height: image.height});
            canvas.getContext('2d').drawImage(image, 0, 0);
            both.append(canvas);
        }
        figure.dataset.key = key(p);
        figure.append(
            both, make('figcaption', `${p.run.name}, frame ${p.index}: ${p.score.toFixed(2)} (left: reference)`));
        return figure;
    }));
}

/* ---- zoom ---- */

const frameUnder = (e) => {
    const box = $('curve').getBoundingClientRect(), [from, to] = shownFrames();
    const part = (e.clientX - box.left - MARGIN.left) / (box.width - MARGIN.left - MARGIN.right);
    return Math.max(from, Math.min(to - 1, Math.round(from + part * (to - from - 1))));
};
let dragged = null;
$('curve').onpointerdown = (e) => {
    dragged = frameUnder(e);
};
$('curve').onpointerup = (e) => {
    const other = frameUnder(e);
    if (dragged !== null && Math.abs(other - dragged) >= 2)
        view = [Math.min(dragged, other), Math.max(dragged, other) + 1];
    dragged = null;
    drawCurve();
};
$('curve').ondblclick = $('all').onclick = () => {
    view = null;
    drawCurve();
};
$('curve').onpointermove = (e) => {
    const i = frameUnder(e),
          lines = runs.filter((r) => Number.isFinite(r.scores[i])).map((r) => `${r.scores[i].toFixed(3)}  ${r.name}`);
    $('tip').hidden = !lines.length;
    $('tip').textContent = [`frame ${i}`, ...lines].join('\n');
    const box = $('curve').getBoundingClientRect(), x = e.clientX - box.left;
    $('tip').style.left = x < box.width / 2 ? `${x + 12}px` : '';
    $('tip').style.right = x < box.width / 2 ? '' : `${box.width - x + 12}px`;
};
$('curve').onpointerleave = () => {
    $('tip').hidden = true;
};
onresize = drawCurve;
matchMedia('(prefers-color-scheme: dark)').onchange = drawCurve;
