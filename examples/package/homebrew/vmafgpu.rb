# A formula for Homebrew. README.md in the folder above explains @URL@ and @SHA256@.
class Vmafgpu < Formula
  desc "VMAF video quality on CPUs and GPUs, bit-identical to libvmaf"
  homepage "@URL@"
  url "@URL@"
  sha256 "@SHA256@"
  license "BSD-2-Clause-Patent"

  def install
    system "make", "install", "PREFIX=#{prefix}"
  end

  test do
    # Two equal grey frames of 16x16 pixels
    (testpath/"grey.yuv").binwrite "\x80".b * 384 * 2
    score = shell_output("#{bin}/vmafgpu --backend cpu -r grey.yuv -d grey.yuv -w 16 -h 16 -p 420 -b 8")
    assert_match(/97\.4/, score)
    (testpath/"program.c").write <<~C
      #define VMAFGPU_IMPLEMENTATION
      #include <vmafgpu/vmafgpu.h>
      int main(void) { return !vmafgpu_builtin_model("vmaf_v0.6.1"); }
    C
    system ENV.cc, "-O0", "-DVMAFGPU_NO_SIMD", "-I#{include}", "program.c", "-lm", "-o", "program"
    system "./program"
  end
end
