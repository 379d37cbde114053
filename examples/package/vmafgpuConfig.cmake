# The target vmafgpu::vmafgpu: where the header is, the C library's maths and threads, and no more, for the program
# compiles the implementation itself. vmafgpu_KERNELS is the folder of vmafgpu_kernels.*, if they were built.
include(CMakeFindDependencyMacro)
set(THREADS_PREFER_PTHREAD_FLAG ON)
find_dependency(Threads)
get_filename_component(vmafgpu_PREFIX "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)
set(vmafgpu_KERNELS "${vmafgpu_PREFIX}/lib/vmafgpu")
if(NOT TARGET vmafgpu::vmafgpu)
    add_library(vmafgpu::vmafgpu INTERFACE IMPORTED)
    set_target_properties(vmafgpu::vmafgpu PROPERTIES
        INTERFACE_INCLUDE_DIRECTORIES "${vmafgpu_PREFIX}/include;${vmafgpu_PREFIX}/include/vmafgpu"
        INTERFACE_LINK_LIBRARIES "Threads::Threads;${CMAKE_DL_LIBS};$<$<NOT:$<PLATFORM_ID:Windows>>:m>")
endif()
