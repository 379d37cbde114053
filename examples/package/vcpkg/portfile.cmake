# A port for vcpkg. README.md in the folder above explains @URL@ and @SHA512@. The port compiles nothing, because
# vmafgpu is a header.
vcpkg_download_distfile(ARCHIVE URLS "@URL@" FILENAME "vmafgpu-${VERSION}.tar.gz" SHA512 @SHA512@)
vcpkg_extract_source_archive(SOURCE ARCHIVE "${ARCHIVE}")

file(GLOB arrays "${SOURCE}/vmafgpu_*.h")
file(GLOB kernels "${SOURCE}/vmafgpu_kernels.nvidia" "${SOURCE}/vmafgpu_kernels.amd")
file(INSTALL "${SOURCE}/vmafgpu.h" ${arrays} DESTINATION "${CURRENT_PACKAGES_DIR}/include/vmafgpu")
file(INSTALL "${SOURCE}/models/model_embed.h" DESTINATION "${CURRENT_PACKAGES_DIR}/include/vmafgpu/models")
file(INSTALL ${kernels} DESTINATION "${CURRENT_PACKAGES_DIR}/lib/vmafgpu")

# The CMake files are for PREFIX/share/cmake/vmafgpu, but vcpkg uses PREFIX/share/vmafgpu.
file(READ "${SOURCE}/examples/package/vmafgpuConfig.cmake" config)
string(REPLACE "{CMAKE_CURRENT_LIST_DIR}/../../.." "{CMAKE_CURRENT_LIST_DIR}/../.." config "${config}")
file(WRITE "${CURRENT_PACKAGES_DIR}/share/${PORT}/vmafgpuConfig.cmake" "${config}")
configure_file("${SOURCE}/examples/package/vmafgpuConfigVersion.cmake"
    "${CURRENT_PACKAGES_DIR}/share/${PORT}/vmafgpuConfigVersion.cmake" @ONLY)

file(INSTALL "${CMAKE_CURRENT_LIST_DIR}/usage" DESTINATION "${CURRENT_PACKAGES_DIR}/share/${PORT}")
vcpkg_install_copyright(FILE_LIST "${SOURCE}/LICENSE")
