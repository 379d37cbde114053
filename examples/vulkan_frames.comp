/* Draws the pictures of vulkan_frames.c. This command compiles the shader into vulkan_frames.h (add "static" there):
 *
 *     glslangValidator -V --target-env vulkan1.2 --vn vulkan_frames_shader -o vulkan_frames.h vulkan_frames.comp
 */
#version 450
layout(local_size_x = 16, local_size_y = 16) in;
layout(binding = 0) uniform writeonly image2D picture;   /* any format */
layout(push_constant) uniform Constants {
    uint frame;
    uint side;      /* size of squares of one colour: 1 for the reference, larger for the distorted frame */
    uint is_luma;   /* write Y (BT.709, limited range) instead of R, G, B */
    uint work;      /* rounds of hashing per pixel, which only keep the GPU busy */
};

uint hash(uint x) {
    x ^= x >> 16;
    x *= 0x7feb352du;
    x ^= x >> 15;
    x *= 0x846ca68bu;
    return x ^ (x >> 16);
}

void main() {
    const uvec2 at = gl_GlobalInvocationID.xy, size = uvec2(imageSize(picture));
    if (at.x >= size.x || at.y >= size.y)
        return;
    const uint x = at.x / side * side + 3 * frame, y = at.y / side * side;
    const uint squares = (((x / 24) ^ (y / 18)) & 1) * 40, grain = hash(x * 8191 + y) % 17;
    uvec3 rgb = uvec3(40 + x * 3 % 140 + squares + grain, 30 + y * 2 % 150 + squares + x * 5 % 23,
                      20 + (x + y) % 160 + squares + grain);
    uint busy = at.x;
    for (uint i = 0; i < work; i++)
        busy = hash(busy + i);
    if (work != 0 && busy == 0x12345678u)   /* so that the compiler keeps the loop */
        rgb.x++;
    const uint luma = 16 + ((rgb.x * 11966 + rgb.y * 40254 + rgb.z * 4064 + 0x8000) >> 16);
    imageStore(picture, ivec2(at), is_luma != 0 ? vec4(float(luma) / 255.0) : vec4(vec3(rgb) / 255.0, 1.0));
}
