# Defines the target vmafgpu::vmafgpu, which sets the include folders and links the system libraries. There is no
# library of vmafgpu to link, because the program compiles the implementation. vmafgpu_KERNELS is the folder of the
# kernel files vmafgpu_kernels.*, if they were built.
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
