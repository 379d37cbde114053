/* VMAF in browsers, Node.js and Deno: an ES module around vmafgpu.wasm. vmaf.d.ts describes the types. */

const POOLINGS = ['mean', 'harmonic_mean', 'min', 'max']; /* vmafgpu_pool_method */
const FORMATS = ['xml', 'json', 'csv', 'sub'];            /* report_format */
const MATRICES = {
    bt601: 1,
    bt709: 2,
    bt2020: 3
}; /* vmafgpu_matrix */
const PIXELS = {
    rgba: 1,
    bgra: 2
}; /* vmafgpu_pixels */

/* Formats of VideoFrame: subsampling of chroma, bits per sample. */
const VIDEO_FORMATS = {
    I420: [420, 8],
    I422: [422, 8],
    I444: [444, 8],
    NV12: [420, 8],
    I420P10: [420, 10],
    I422P10: [422, 10],
    I444P10: [444, 10],
    I420P12: [420, 12],
    I422P12: [422, 12],
    I444P12: [444, 12],
};

/* The library needs none of these functions, but the C library refers to them. 52 means "not supported". */
const system = new Proxy({}, {get: () => () => 52});

async function compile(source) {
    source = await source;
    if (source instanceof WebAssembly.Module) return source;
    if (typeof Response !== 'undefined' && source instanceof Response) return WebAssembly.compileStreaming(source);
    return WebAssembly.compile(source);
}

/* A thread: a worker that shares the memory, with a stack and thread-local variables of its own. */
const THREAD = `
async function run({ module, memory, stack, tls, scorer }, ready) {
    const wasi_snapshot_preview1 = new Proxy({}, { get: () => () => 52 });
    const { exports } = await WebAssembly.instantiate(module, { env: { memory }, wasi_snapshot_preview1 });
    exports.__stack_pointer.value = stack;
    exports.__wasm_init_tls(tls);
    ready();
    exports.vmaf_thread(scorer);
}`;
const STACK = 1 << 18;

async function startThread(data) {
    if (typeof Worker !== 'undefined') {
        const url =
            URL.createObjectURL(new Blob([`${THREAD} onmessage = ({ data }) => run(data, () => postMessage(0));`]));
        const worker = new Worker(url);
        await new Promise((ok, no) => {
            worker.onmessage = ok;
            worker.onerror = (e) => no(new Error(`a thread did not start (${e.message})`));
            worker.postMessage(data);
        });
        URL.revokeObjectURL(url);
        return worker;
    }
    const {Worker: NodeWorker} = await import('node:worker_threads');
    const code = `const { parentPort, workerData } = require('node:worker_threads');
        ${THREAD} run(workerData, () => parentPort.postMessage(0));`;
    const worker = new NodeWorker(code, {eval: true, workerData: data});
    await new Promise((ok, no) => worker.once('message', ok).once('error', no));
    worker.unref();
    return worker;
}

const isVideoFrame = (frame) => typeof VideoFrame !== 'undefined' && frame instanceof VideoFrame;

/* Returns { width, height, bitDepth, chroma } of a VideoFrame for VMAF.create(). RGB frames become 4:2:0. */
export function formatOf(frame) {
    const {width, height} = frame.visibleRect;
    const [chroma, bitDepth] = VIDEO_FORMATS[frame.format] ?? [420, 8];
    return {width, height, bitDepth, chroma, isRGB: !VIDEO_FORMATS[frame.format]};
}

export class VMAF {
    #c;
    #scorer;
    #closed = false;
    #busy = false;
    #memory;
    #threads = [];

    static async create(options) {
        const {width, height, bitDepth = 8, chroma = 420, features = [], colour} = options;
        const models = options.models ?? [options.model ?? 'vmaf_v0.6.1'];
        for (const [name, value] of Object.entries({width, height, bitDepth, chroma}))
            if (!Number.isInteger(value)) throw new TypeError(`${name}: must be an integer (${value})`);
        if (![400, 420, 422, 444].includes(chroma))
            throw new RangeError(`chroma: must be 400, 420, 422 or 444 (${chroma})`);
        const matrix = colour ? MATRICES[colour.matrix ?? 'bt709'] : 0;
        if (matrix === undefined)
            throw new RangeError(`colour.matrix: must be bt601, bt709 or bt2020 (${colour.matrix})`);
        if (!options.module)
            throw new TypeError('module: is missing; pass fetch("vmafgpu.wasm") or the bytes of this file');
        const module = await compile(options.module);
        const isShared = WebAssembly.Module.imports(module).some(({name}) => name === 'memory');
        const threads = options.threads ?? 1;
        if (!(threads >= 1 && threads <= 64)) throw new RangeError(`threads: must be 1 to 64 (${threads})`);
        if (threads > 1 && !isShared) throw new Error('threads: need the module vmafgpu_threads.wasm');
        const self = new VMAF();
        const imports = {wasi_snapshot_preview1: system, env: {}};
        if (isShared) imports.env.memory = new WebAssembly.Memory({initial: 64, maximum: 16384, shared: true});
        const instance = await WebAssembly.instantiate(module, imports);
        const c = self.#c = instance.exports;
        self.#memory = imports.env.memory ?? c.memory;
        c._initialize();
        self.#scorer = c.vmaf_new();
        for (const model of models) self.#check(self.#write(model) && c.vmaf_add_model(self.#scorer));
        for (const feature of features) self.#check(self.#write(feature) && c.vmaf_add_feature(self.#scorer));
        c.vmaf_set_threads(self.#scorer, threads);
        self.#check(c.vmaf_open(self.#scorer, width, height, bitDepth, chroma, matrix, colour?.range === 'full'));
        Object.assign(self, {width, height, bitDepth, chroma, hasColour: !!colour});
        for (let i = 1; i < threads; i++) {
            const stack = c.vmaf_allocate(STACK) + STACK, tls = c.vmaf_allocate(c.__tls_size.value);
            const data = {module, memory: self.#memory, stack, tls, scorer: self.#scorer};
            self.#threads.push(await startThread(data));
        }
        self.frameSize = c.vmaf_frame_size(self.#scorer);
        self.instructionSet = self.#read(c.vmaf_instruction_set(self.#scorer));
        const count = c.vmaf_column_count(self.#scorer);
        self.columns = Array.from({length: count}, (_, i) => self.#read(c.vmaf_column_name(self.#scorer, i)));
        self.scoreColumn = c.vmaf_model_column(self.#scorer, 0);
        return self;
    }

    #read(at) {
        const bytes = new Uint8Array(this.#memory.buffer, at);
        return new TextDecoder().decode(bytes.slice(0, bytes.indexOf(0)));
    }

    #write(text) {
        const bytes = new TextEncoder().encode(`${text}\0`), size = this.#c.vmaf_text_size();
        if (bytes.length > size) throw new RangeError(`a name is too long (${text.slice(0, 40)}...)`);
        new Uint8Array(this.#memory.buffer, this.#c.vmaf_text(), size).set(bytes);
        return true;
    }

    #check(ok) {
        if (ok) return;
        const message = this.#read(this.#c.vmaf_text());
        if (!this.columns) this.close();
        throw new Error(message);
    }

    #use() {
        if (this.#closed) throw new Error('this VMAF is closed');
        return this.#c;
    }

    /* Bytes per sample, and sizes of a chroma plane, rounded up. */
    get #bytes() { return this.bitDepth > 8 ? 2 : 1; }
    get #chromaWidth() { return this.chroma === 444 ? this.width : (this.width + 1) >> 1; }
    get #chromaHeight() { return this.chroma === 420 ? (this.height + 1) >> 1 : this.height; }

    /* The planes of a frame in packed form: [first byte, bytes per row, rows]. */
    #planes() {
        const row = this.width * this.#bytes, chroma = this.#chromaWidth * this.#bytes, rows = this.#chromaHeight;
        const luma = row * this.height;
        return this.chroma === 400 ?
            [[0, row, this.height]] :
            [[0, row, this.height], [luma, chroma, rows], [luma + chroma * rows, chroma, rows]];
    }

    /* Copies planes with any offset and stride. `pairs`: chroma samples are interleaved; `shift`: right shift. */
    #copy(from, layout, to, pairs = false, shift = 0) {
        this.#planes().forEach(([first, bytes, rows], plane) => {
            const source = layout[pairs && plane ? 1 : plane];
            if (!source) throw new RangeError('the frame has too few planes');
            for (let y = 0; y < rows; y++) {
                const at = source.offset + y * source.stride, out = first + y * bytes;
                if (!(pairs && plane) && !shift) {
                    to.set(from.subarray(at, at + bytes), out);
                    continue;
                }
                const step = pairs && plane ? 2 : 1, skip = pairs && plane === 2 ? this.#bytes : 0;
                for (let x = 0; x < bytes; x += this.#bytes) {
                    if (this.#bytes === 1) {
                        to[out + x] = from[at + step * x + skip];
                        continue;
                    }
                    const sample = (from[at + step * x + skip] | from[at + step * x + skip + 1] << 8) >> shift;
                    to[out + x] = sample & 255, to[out + x + 1] = sample >> 8;
                }
            }
        });
        return 0;
    }

    /* Writes a frame into the buffer of a side. Returns its vmafgpu_pixels, or a promise of them. */
    #put(frame, side) {
        const buffer = () => new Uint8Array(
            this.#memory.buffer, this.#c.vmaf_buffer(this.#scorer, side),
            Math.max(this.frameSize, this.hasColour ? 4 * this.width * this.height : 0));
        if (isVideoFrame(frame)) return this.#putVideoFrame(frame, buffer);
        let {data = frame, format = 'planar'} = frame;
        if (typeof ImageData !== 'undefined' && frame instanceof ImageData) {
            format = 'rgba';
            if (frame.width !== this.width || frame.height !== this.height)
                throw new RangeError(
                    `the image has ${frame.width}x${frame.height} pixels, not ${this.width}x${this.height}`);
        }
        if (!ArrayBuffer.isView(data))
            throw new TypeError('a frame must be a typed array, an ImageData or a VideoFrame');
        const bytes = new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
        const need = PIXELS[format] ? 4 * this.width * this.height : this.frameSize;
        if (bytes.length !== need) throw new RangeError(`a ${format} frame has ${need} bytes, not ${bytes.length}`);
        if (PIXELS[format]) {
            this.#needColour();
            buffer().set(bytes);
            return PIXELS[format];
        }
        const luma = this.width * this.height * this.#bytes, stride = 2 * this.#chromaWidth * this.#bytes;
        const layout = [{offset: 0, stride: this.width * this.#bytes}, {offset: luma, stride}];
        if (format === 'nv12') return this.#copy(bytes, layout, buffer(), true);
        if (format === 'p010') return this.#copy(bytes, layout, buffer(), true, 16 - this.bitDepth);
        if (format !== 'planar') throw new RangeError(`format: must be planar, nv12, p010, rgba or bgra (${format})`);
        buffer().set(bytes);
        return 0;
    }

    #needColour() {
        if (!this.hasColour) throw new Error('RGB frames need the option colour of VMAF.create()');
    }

    async #putVideoFrame(frame, buffer) {
        const format = formatOf(frame);
        if (format.width !== this.width || format.height !== this.height)
            throw new RangeError(
                `the frame has ${format.width}x${format.height} pixels, not ${this.width}x${this.height}`);
        if (format.isRGB) {
            this.#needColour();
            const bytes = new Uint8Array(4 * this.width * this.height);
            await frame.copyTo(bytes, {format: 'RGBA'});
            buffer().set(bytes);
            return PIXELS.rgba;
        }
        if (format.bitDepth !== this.bitDepth || (format.chroma !== this.chroma && this.chroma !== 400))
            throw new RangeError(`the frame has the format ${frame.format}, not ${this.bitDepth} bits ${this.chroma}`);
        const bytes = new Uint8Array(frame.allocationSize()), layout = await frame.copyTo(bytes);
        return this.#copy(bytes, layout, buffer(), frame.format === 'NV12');
    }

    /* Scores a pair. Returns the scores that are ready, usually that of the previous pair: motion looks ahead. */
    async push(reference, distorted) {
        const c = this.#use();
        if (this.#busy) throw new Error('push() must not be called before the promise of the previous call is settled');
        this.#busy = true;
        try {
            const pixels = [await this.#put(reference, 0), await this.#put(distorted, 1)];
            this.#use();
            this.#check(c.vmaf_push(this.#scorer, ...pixels));
            return this.#ready();
        } finally { this.#busy = false; }
    }

    /* Ends the clip. Returns the remaining scores. */
    flush() {
        this.#check(this.#use().vmaf_flush(this.#scorer));
        return this.#ready();
    }

    #ready() {
        const c = this.#c, scores = [];
        while (c.vmaf_next(this.#scorer)) {
            const values = new Float64Array(this.#memory.buffer, c.vmaf_values(this.#scorer), this.columns.length);
            scores.push({
                index: c.vmaf_index(this.#scorer),
                score: this.scoreColumn < 0 ? NaN : values[this.scoreColumn],
                values: Object.fromEntries(this.columns.map((name, i) => [name, values[i]])),
            });
        }
        return scores;
    }

    /* Pools a column: 'mean', 'harmonic_mean', 'min', 'max', or a percentile from 0 to 100. */
    pool(method = 'mean', column = this.columns[this.scoreColumn]) {
        const at = this.columns.indexOf(column), which = POOLINGS.indexOf(method);
        if (at < 0) throw new RangeError(`there is no column ${column}`);
        if (which < 0 && !(method >= 0 && method <= 100)) throw new RangeError(`unknown pooling ${method}`);
        return this.#use().vmaf_pool(this.#scorer, at, which, which < 0 ? method : 0);
    }

    /* Returns a report in a format of libvmaf: 'json', 'csv', 'xml' or 'sub'. digits: as in libvmaf, or Infinity. */
    report(format = 'json', {fps = 0, digits} = {}) {
        const which = FORMATS.indexOf(format);
        if (which < 0) throw new RangeError(`unknown format ${format}`);
        const at = this.#use().vmaf_report(
            this.#scorer, which,
            digits === undefined    ? -1 :
                digits === Infinity ? -2 :
                                      digits,
            fps);
        if (!at) throw new Error('out of memory');
        return this.#read(at);
    }

    close() {
        if (this.#threads.length) this.#c.vmaf_stop_threads(this.#scorer);
        for (const thread of this.#threads) thread.terminate();
        this.#threads = [];
        if (!this.#closed && this.#scorer) this.#c.vmaf_close(this.#scorer);
        this.#closed = true;
    }
}

/* Reads the header of a y4m file. Returns null if it is not complete. */
export function parseY4m(bytes) {
    const end = bytes.indexOf(10), line = new TextDecoder().decode(bytes.subarray(0, end < 0 ? bytes.length : end));
    if (!line.startsWith('YUV4MPEG2 ')) throw new Error('this is not a y4m file');
    if (end < 0) throw new Error('the header of the y4m file is not complete');
    const field = (letter) => line.split(' ').find((f, i) => i && f[0] === letter)?.slice(1);
    const name = field('C') ?? '420', width = +field('W'), height = +field('H');
    const known = /^(420(jpeg|mpeg2|paldv)?|(420|422|444)(p(9|10|12|14|16))?|mono(9|10|12|16)?)$/.exec(name);
    if (!known) throw new Error(`the colour format ${name} of the y4m file is not supported`);
    if (!(width > 0 && height > 0)) throw new Error('the y4m file has no size');
    const chroma = name.startsWith('mono') ? 400 : parseInt(name, 10), bitDepth = +(known[5] ?? known[6] ?? 8);
    const [num, den] = (field('F') ?? '25:1').split(':');
    const columns = chroma === 444 ? width : (width + 1) >> 1, rows = chroma === 420 ? (height + 1) >> 1 : height;
    const samples = width * height + (chroma === 400 ? 0 : 2 * columns * rows);
    return {
        width,
        height,
        bitDepth,
        chroma,
        frameSize: samples * (bitDepth > 8 ? 2 : 1),
        headerSize: end + 1,
        fps: num / den
    };
}

/* Yields the frames of a y4m file (a File or Blob). Reads one frame at a time. */
export async function* y4mFrames(file) {
    const read = async (from, size) => new Uint8Array(await file.slice(from, from + size).arrayBuffer());
    const head = parseY4m(await read(0, 4096));
    for (let at = head.headerSize, index = 0; at < file.size; index++) {
        const bytes = await read(at, head.frameSize + 128), end = bytes.indexOf(10) + 1;
        if (end === 0 || new TextDecoder().decode(bytes.subarray(0, 5)) !== 'FRAME')
            throw new Error(`${file.name ?? 'the y4m file'} is damaged at frame ${index}`);
        if (bytes.length < end + head.frameSize)
            throw new Error(`${file.name ?? 'the y4m file'} is truncated: frame ${index} is not complete`);
        yield bytes.subarray(end, end + head.frameSize);
        at += end + head.frameSize;
    }
}
