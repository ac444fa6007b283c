# How a solve file is compiled. The project's own CMakeLists.txt includes this file, and so does toolchain/, which the
# Python package configures once per toolchain for files from elsewhere. Including it finds the tools:
#
#   JUDGE_NVCC           path of a working nvcc, or ""
#   JUDGE_CXX            path of the host's C++ compiler, or ""
#   JUDGE_NOTES          one sentence for each tool that is missing
#
# and defines
#
#   judge_add_runtime(<directory>)                      target `cudacpu`: the CUDA-on-CPU runtime library
#   judge_add_solve(<source>)                           rules for build/lib<name>.so and build/cpu/..., in the targets
#                                                       gpu_solves and cpu_solves
#   judge_solve_commands(<variable> <backend> <source> <library> <work directory> <runtime directory>)
#                                                       the command lines alone; backend is gpu, cpu or checked
#
# Three builds of a source exist: `gpu` by nvcc; `cpu`, the unmodified source on the CUDA-on-CPU layer; `checked`, the
# same at -O0 with a call before every access to memory, which compares it with the exact bounds of each buffer.
# Commands rather than CMake's CUDA language: the package needs the very command lines to build a file anywhere without
# configuring again, and CMake's own probe of nvcc refuses NVIDIA's wheels from PyPI, which have no libcudart.so link.

include_guard(GLOBAL)
include(CheckLanguage)

get_filename_component(JUDGE_PACKAGE "${CMAKE_CURRENT_LIST_DIR}" DIRECTORY)
get_filename_component(JUDGE_PACKAGE_PARENT "${JUDGE_PACKAGE}" DIRECTORY)
set(JUDGE_CUDACPU "${JUDGE_PACKAGE}/cudacpu")
set(JUDGE_EXPORTS "${CMAKE_CURRENT_LIST_DIR}/exports.map")
set(JUDGE_NOTES "")

if(NOT CMAKE_BUILD_TYPE)
    set(CMAKE_BUILD_TYPE Release CACHE STRING "Release or Debug" FORCE)
endif()

find_package(Python3 3.8 REQUIRED COMPONENTS Interpreter)

# ---- the host's C++ compiler ------------------------------------------------------------------------------------------

check_language(CXX)
if(CMAKE_CXX_COMPILER)
    enable_language(CXX)
    find_package(Threads REQUIRED)
    set(JUDGE_CXX "${CMAKE_CXX_COMPILER}")
else()
    set(JUDGE_CXX "")
    list(APPEND JUDGE_NOTES "No C++ compiler was found: .cu files cannot be built (apt install g++, or set CXX).")
endif()

# ---- nvcc: -DCMAKE_CUDA_COMPILER, CUDACXX, CUDA_HOME, PATH, then NVIDIA's wheels beside this Python ---------------------

execute_process(
    COMMAND "${Python3_EXECUTABLE}" -c
            "import glob, sysconfig; print(';'.join(glob.glob(sysconfig.get_path('purelib') + '/nvidia/*/bin')))"
    OUTPUT_VARIABLE JUDGE_WHEELS OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
if(CMAKE_CUDA_COMPILER)
    set(nvcc_found "${CMAKE_CUDA_COMPILER}")
elseif(DEFINED ENV{CUDACXX})
    set(nvcc_found "$ENV{CUDACXX}")
else()
    find_program(JUDGE_NVCC_PATH nvcc PATHS ENV CUDA_HOME ENV CUDA_PATH PATH_SUFFIXES bin NO_DEFAULT_PATH)
    find_program(JUDGE_NVCC_PATH nvcc PATHS ENV PATH NO_DEFAULT_PATH)
    find_program(JUDGE_NVCC_PATH nvcc PATHS ${JUDGE_WHEELS} NO_DEFAULT_PATH)
    set(nvcc_found "${JUDGE_NVCC_PATH}")
endif()

# Sets <variable> to the compute capabilities to build for: the GPU that is present, else a short list of those the
# compiler knows, the last with PTX so that later GPUs can run it.
function(judge_find_architectures variable nvcc)
    if(CMAKE_CUDA_ARCHITECTURES)
        set(${variable} "${CMAKE_CUDA_ARCHITECTURES}" PARENT_SCOPE)
        return()
    endif()
    execute_process(COMMAND nvidia-smi --query-gpu=compute_cap --format=csv,noheader
                    OUTPUT_VARIABLE present RESULT_VARIABLE status ERROR_QUIET)
    if(status EQUAL 0 AND present MATCHES "^[0-9]+\\.[0-9]")
        string(REGEX MATCHALL "[0-9]+\\.[0-9]+" present "${present}")
        string(REPLACE "." "" present "${present}")
        list(REMOVE_DUPLICATES present)
        set(${variable} "${present}" PARENT_SCOPE)
        return()
    endif()
    execute_process(COMMAND "${nvcc}" --list-gpu-arch OUTPUT_VARIABLE known ERROR_QUIET)
    set(found "")
    foreach(architecture 75 80 90)
        if(known MATCHES "compute_${architecture}[^0-9]")
            list(APPEND found ${architecture})
        endif()
    endforeach()
    set(${variable} "${found}" PARENT_SCOPE)
endfunction()

# Sets JUDGE_NVCC_FLAGS from what nvcc says of itself (nvcc is often a wrapper script, so its own path says little):
# the shared cudart, with its directory in the library's search path, and the architectures.
macro(judge_find_nvcc_flags nvcc)
    execute_process(COMMAND "${nvcc}" --dryrun -shared x.cu ERROR_VARIABLE dryrun OUTPUT_VARIABLE dryrun_output)
    string(REGEX MATCHALL "-L[^\" ]+" library_paths "${dryrun}")
    list(TRANSFORM library_paths REPLACE "^-L" "")
    if(dryrun MATCHES "TOP=([^\n]+)")
        list(APPEND library_paths "${CMAKE_MATCH_1}/lib")  # NVIDIA's wheels, whose nvcc looks in lib64
    endif()
    # Only where the toolkit keeps it: a cudart of another version elsewhere on the machine would not do.
    unset(JUDGE_CUDART CACHE)
    find_library(JUDGE_CUDART NAMES libcudart.so libcudart.so.13 libcudart.so.12 libcudart.so.11.0
                 PATHS ${library_paths} NO_DEFAULT_PATH)
    get_filename_component(cudart_directory "${JUDGE_CUDART}" DIRECTORY)
    judge_find_architectures(JUDGE_CUDA_ARCHITECTURES "${nvcc}")
    set(JUDGE_NVCC_FLAGS -std=c++17 -lineinfo -shared -Xcompiler -fPIC -cudart none
        "-L${cudart_directory}" -Xlinker "${JUDGE_CUDART}" -Xlinker "-rpath=${cudart_directory}")
    foreach(architecture IN LISTS JUDGE_CUDA_ARCHITECTURES)
        list(APPEND JUDGE_NVCC_FLAGS "-gencode=arch=compute_${architecture},code=sm_${architecture}")
    endforeach()
    list(GET JUDGE_CUDA_ARCHITECTURES -1 architecture)
    list(APPEND JUDGE_NVCC_FLAGS "-gencode=arch=compute_${architecture},code=compute_${architecture}")
    if(CMAKE_BUILD_TYPE STREQUAL "Debug")
        list(APPEND JUDGE_NVCC_FLAGS -g -G)
    else()
        list(APPEND JUDGE_NVCC_FLAGS -O3)
    endif()
    separate_arguments(user_flags UNIX_COMMAND "${CMAKE_CUDA_FLAGS}")
    list(APPEND JUDGE_NVCC_FLAGS ${user_flags})
endmacro()

set(JUDGE_NVCC "")
if(NOT nvcc_found AND JUDGE_CXX)
    list(APPEND JUDGE_NOTES "No CUDA compiler was found: .cu files are built for the CPU only.")
elseif(nvcc_found AND JUDGE_CXX)
    judge_find_nvcc_flags("${nvcc_found}")
    set(trial "${CMAKE_BINARY_DIR}/CMakeFiles/judge-trial")
    file(WRITE "${trial}.cu" "__global__ void k() {} extern \"C\" void solve() { k<<<1, 1>>>(); }\n")
    execute_process(COMMAND "${nvcc_found}" ${JUDGE_NVCC_FLAGS} -o "${trial}.so" "${trial}.cu"
                    RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
    if(status EQUAL 0)
        set(JUDGE_NVCC "${nvcc_found}")
        execute_process(COMMAND "${nvcc_found}" --version OUTPUT_VARIABLE output)
        string(REGEX MATCH "V[0-9.]+" JUDGE_NVCC_VERSION "${output}")
    else()
        string(REGEX REPLACE "\n.*" "" output "${output}")
        list(APPEND JUDGE_NOTES "${nvcc_found} does not work, .cu files are built for the CPU only: ${output}")
    endif()
endif()

# NVIDIA's C++ libraries (CCCL), of which Thrust also runs on a CPU: from the wheels or the toolkit, else nowhere.
execute_process(
    COMMAND "${Python3_EXECUTABLE}" -c
            "import glob, sysconfig; print(';'.join(glob.glob(sysconfig.get_path('purelib') + '/nvidia/*/include/cccl')))"
    OUTPUT_VARIABLE wheels OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
get_filename_component(toolkit "${nvcc_found}" DIRECTORY)
set(toolkits "${toolkit}/.." "$ENV{CUDA_HOME}" "$ENV{CUDA_PATH}" /usr/local/cuda)
unset(JUDGE_CCCL CACHE)
find_path(JUDGE_CCCL thrust/version.h PATHS ${wheels} ${toolkits} PATH_SUFFIXES include/cccl include NO_DEFAULT_PATH)
set(JUDGE_CCCL_FLAGS "")
if(JUDGE_CCCL)
    get_filename_component(JUDGE_CCCL "${JUDGE_CCCL}" REALPATH)
    set(JUDGE_CCCL_FLAGS -idirafter "${JUDGE_CCCL}")  # behind our own headers, which stand in for some of its own
endif()

# ---- command lines ----------------------------------------------------------------------------------------------------

# -gdwarf-4: older addr2line misreads file names in DWARF 5. -fstack-clash-protection: a large frame must not jump over
# the guard page of a CUDA thread's small stack. -fno-optimize-sibling-calls: a barrier that ends a function keeps its line. No
# contraction: see cudacpu/README.md.
set(JUDGE_CPU_FLAGS -std=c++17 -gdwarf-4 -fPIC -w -fno-strict-aliasing -ffp-contract=off -fno-optimize-sibling-calls
    -fstack-clash-protection -pthread)

# Volatile accesses are announced as such, since threads wait for each other through them; and clang also announces a
# read that a write to the same place follows.
set(JUDGE_CHECKED_FLAGS "")
if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    set(JUDGE_CHECKED_FLAGS -mllvm -tsan-distinguish-volatile -mllvm -tsan-instrument-read-before-write)
elseif(CMAKE_CXX_COMPILER_VERSION VERSION_GREATER_EQUAL 11)
    set(JUDGE_CHECKED_FLAGS --param=tsan-distinguish-volatile=1)
endif()

function(judge_solve_commands variable backend source library work runtime)
    set(commands COMMAND "${CMAKE_COMMAND}" -E make_directory "${work}")
    if(backend STREQUAL "gpu")
        list(APPEND commands COMMAND "${JUDGE_NVCC}" ${JUDGE_NVCC_FLAGS} -Xlinker "--version-script=${JUDGE_EXPORTS}"
             -I "${work}" -include "${source}" -MMD -MT "${library}" -MF "${work}/depfile"
             -o "${library}" "${work}/solve-check.cu")
    else()
        separate_arguments(flags UNIX_COMMAND "${CMAKE_CXX_FLAGS}")
        set(wrapped "")
        if(backend STREQUAL "checked")
            # ThreadSanitizer's instrumentation without its library: the hooks are the runtime's own. -O0, because
            # optimisation narrows or drops a bad load before it is instrumented. Likewise the checks for alignment.
            list(APPEND flags -O0 -fsanitize=thread -fsanitize=alignment ${JUDGE_CHECKED_FLAGS})
            # Also what C functions do to memory.
            set(wrapped -Wl,--wrap=memcpy,--wrap=memmove,--wrap=memset)
        elseif(CMAKE_BUILD_TYPE STREQUAL "Debug")
            list(APPEND flags -O0)
        else()
            list(APPEND flags -O2)
        endif()
        get_filename_component(directory "${source}" DIRECTORY)
        list(APPEND commands
             COMMAND "${Python3_EXECUTABLE}" -I "${JUDGE_CUDACPU}/rewrite.py" "${source}" -o "${work}/rewritten.cpp"
                     -MT "${library}" -MF "${work}/depfile"
             COMMAND "${JUDGE_CXX}" ${JUDGE_CPU_FLAGS} ${flags} -I "${JUDGE_CUDACPU}/include" -I "${work}"
                     ${JUDGE_CCCL_FLAGS} -iquote "${directory}" -include cuda_runtime.h -include "${work}/rewritten.cpp"
                     -x c++ -c "${work}/solve-check.cu" -o "${work}/solve.o"
             COMMAND "${JUDGE_CXX}" -shared "${work}/solve.o" "${runtime}/libcudacpu.so" ${wrapped}
                     "-Wl,--version-script=${JUDGE_EXPORTS}" "-Wl,-rpath,${runtime}" -o "${library}")
    endif()
    set(${variable} "${commands}" PARENT_SCOPE)
endfunction()

function(judge_add_runtime directory)
    file(GLOB sources CONFIGURE_DEPENDS "${JUDGE_CUDACPU}/src/*.cpp")
    add_library(cudacpu SHARED ${sources})
    target_include_directories(cudacpu PRIVATE "${JUDGE_CUDACPU}/include")
    target_compile_features(cudacpu PRIVATE cxx_std_17)
    target_compile_options(cudacpu PRIVATE -O2 -g -fno-semantic-interposition)
    target_link_options(cudacpu PRIVATE -Wl,-Bsymbolic-functions)
    target_link_libraries(cudacpu PRIVATE Threads::Threads ${CMAKE_DL_LIBS})
    set_target_properties(cudacpu PROPERTIES LIBRARY_OUTPUT_DIRECTORY "${directory}")
endfunction()

# One rule: the library of one source for one backend.
function(judge_add_library backend source library)
    get_filename_component(name "${source}" NAME_WE)
    set(work "${CMAKE_BINARY_DIR}/solves/${backend}/${name}")
    judge_solve_commands(commands ${backend} "${source}" "${library}" "${work}" "${CMAKE_BINARY_DIR}/cpu")
    get_filename_component(directory "${library}" DIRECTORY)
    file(MAKE_DIRECTORY "${directory}" "${work}")
    file(GLOB layer CONFIGURE_DEPENDS "${JUDGE_CUDACPU}/*.py" "${JUDGE_CUDACPU}/include/*" "${JUDGE_CUDACPU}/include/*/*")
    set(runtime "")
    if(NOT backend STREQUAL "gpu")
        set(runtime cudacpu)
    endif()
    # A failed build must not leave the library of an earlier one behind, nor a copy of it.
    set(outdated "${library}")
    if(NOT JUDGE_NVCC)
        list(APPEND outdated "${CMAKE_BINARY_DIR}/lib${name}.so")
    endif()
    add_custom_command(
        OUTPUT "${library}"
        COMMAND "${CMAKE_COMMAND}" -E rm -f ${outdated}
        COMMAND "${CMAKE_COMMAND}" -E env "PYTHONPATH=${JUDGE_PACKAGE_PARENT}"
                "${Python3_EXECUTABLE}" -m harness.signature "${source}" "${work}"
        ${commands}
        DEPENDS "${source}" "${JUDGE_PACKAGE}/signature.py" "${JUDGE_EXPORTS}" ${layer} ${runtime}
        DEPFILE "${work}/depfile"
        COMMENT "Building ${library} (${backend})"
        VERBATIM)
    add_custom_target("${name}_${backend}" ALL DEPENDS "${library}")
    # What a run on one backend needs, by itself: the judge builds no more than that.
    string(REPLACE "checked" "cpu" group "${backend}")
    if(NOT TARGET ${group}_solves)
        add_custom_target(${group}_solves)
    endif()
    add_dependencies(${group}_solves "${name}_${backend}")
endfunction()

function(judge_add_solve source)
    get_filename_component(name "${source}" NAME_WE)
    if(NOT JUDGE_CXX)
        return()
    endif()
    judge_add_library(cpu "${source}" "${CMAKE_BINARY_DIR}/cpu/lib${name}.so")
    judge_add_library(checked "${source}" "${CMAKE_BINARY_DIR}/cpu/checked/lib${name}.so")
    if(JUDGE_NVCC)
        judge_add_library(gpu "${source}" "${CMAKE_BINARY_DIR}/lib${name}.so")
    else()
        # The CPU build stands in; its run path leads back to the runtime in cpu/.
        add_custom_command(
            OUTPUT "${CMAKE_BINARY_DIR}/lib${name}.so"
            COMMAND "${CMAKE_COMMAND}" -E copy "${CMAKE_BINARY_DIR}/cpu/lib${name}.so" "${CMAKE_BINARY_DIR}/lib${name}.so"
            DEPENDS "${CMAKE_BINARY_DIR}/cpu/lib${name}.so" VERBATIM)
        add_custom_target("${name}_stand_in" ALL DEPENDS "${CMAKE_BINARY_DIR}/lib${name}.so")
        add_dependencies(cpu_solves "${name}_stand_in")
    endif()
endfunction()

# Writes what the Python package needs to build a file by itself: the commands, with @SOURCE@, @LIBRARY@, @WORK@ to fill in.
function(judge_write_toolchain file runtime)
    set(json "{}")
    set(backends "")
    if(JUDGE_CXX)
        list(APPEND backends cpu checked)
    endif()
    if(JUDGE_NVCC)
        list(APPEND backends gpu)
    endif()
    string(JSON json SET "${json}" commands "{}")
    foreach(backend IN LISTS backends)
        judge_solve_commands(commands ${backend} "@SOURCE@" "@LIBRARY@" "@WORK@" "${runtime}")
        set(list "[]")
        set(step -1)
        foreach(word IN LISTS commands)
            if(word STREQUAL "COMMAND")
                math(EXPR step "${step} + 1")
                set(index 0)
                string(JSON list SET "${list}" ${step} "[]")
            else()
                string(REPLACE "\\" "\\\\" word "${word}")
                string(REPLACE "\"" "\\\"" word "${word}")
                string(JSON list SET "${list}" ${step} ${index} "\"${word}\"")
                math(EXPR index "${index} + 1")
            endif()
        endforeach()
        string(JSON json SET "${json}" commands ${backend} "${list}")
    endforeach()
    string(JSON json SET "${json}" compiler "\"${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION}\"")
    string(JSON json SET "${json}" nvcc "\"${JUDGE_NVCC_VERSION}\"")
    string(JSON json SET "${json}" notes "\"${JUDGE_NOTES}\"")
    file(WRITE "${file}" "${json}\n")
endfunction()
