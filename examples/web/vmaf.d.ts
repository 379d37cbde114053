/** VMAF scores in a browser, Node.js or Deno, bit-identical to those of libvmaf. */

export interface Options {
    /** vmafgpu.wasm: fetch('vmafgpu.wasm'), its bytes, or the compiled module. */
    module: WebAssembly.Module|BufferSource|Response|Promise<WebAssembly.Module|BufferSource|Response>;
    width: number;
    height: number;
    /** 8 to 16; default 8. */
    bitDepth?: number;
    /** Default 420. */
    chroma?: 400|420|422|444;
    /** Name of a built-in model; default 'vmaf_v0.6.1'. */
    model?: string;
    /** Several models; replaces `model`. An empty array means features only. */
    models?: string[];
    /** More features, with options after an equals sign: 'psnr=enable_chroma=false'. */
    features?: string[];
    /** Threads that share the work on a frame; default 1. More need vmafgpu_threads.wasm and SharedArrayBuffer. */
    threads?: number;
    /** How RGB frames are converted; without this option, they are refused. */
    colour?: {matrix?: 'bt601'|'bt709'|'bt2020'; range?: 'limited' | 'full'};
}

/**
 * A tightly packed frame: planes Y, U, V, or Y and UV ('nv12', 'p010'), or RGB pixels of four bytes. Sizes of
 * subsampled chroma are rounded up. Samples of more than 8 bits are little-endian 16-bit words.
 */
export type Samples = Uint8Array|Uint8ClampedArray|Uint16Array;
export type Frame =|Samples|{
    data: Samples;
    format: 'planar'|'nv12'|'p010'|'rgba'|'bgra'
}
|ImageData|VideoFrame;

export interface Score {
    index: number;
    /** Score of the first model. */
    score: number;
    /** Values of all columns. */
    values: Record<string, number>;
}

export type Pooling = 'mean'|'harmonic_mean'|'min'|'max'|number;

export class VMAF {
    static create(options: Options): Promise<VMAF>;
    readonly width: number;
    readonly height: number;
    readonly bitDepth: number;
    readonly chroma: number;
    /** Names of the columns: features, then models. */
    readonly columns: string[];
    /** Index of the score of the first model, or -1. */
    readonly scoreColumn: number;
    /** Bytes of a frame of YUV planes. */
    readonly frameSize: number;
    /** 'simd128' or 'scalar'. */
    readonly instructionSet: string;
    /** Scores a pair. Returns the scores that are ready, usually that of the previous pair. VideoFrames stay open. */
    push(reference: Frame, distorted: Frame): Promise<Score[]>;
    /** Ends the clip. Returns the remaining scores. */
    flush(): Score[];
    /** Pools a column, by default the score. A number is a percentile. */
    pool(method?: Pooling, column?: string): number;
    /** Returns a report in a format of libvmaf. digits: decimals; Infinity restores each double. */
    report(format?: 'json'|'csv'|'xml'|'sub', options?: {fps?: number; digits?: number}): string;
    /** Frees all memory. */
    close(): void;
}

export interface Y4m {
    width: number;
    height: number;
    bitDepth: number;
    chroma: 400|420|422|444;
    frameSize: number;
    headerSize: number;
    fps: number;
}

/** Returns the options of VMAF.create() for frames such as this one. */
export function formatOf(frame: VideoFrame): Pick<Options, 'width'|'height'|'bitDepth'|'chroma'>&{isRGB: boolean};
export function parseY4m(bytes: Uint8Array): Y4m;
export function y4mFrames(file: Blob): AsyncGenerator<Uint8Array>;
