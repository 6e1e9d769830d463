# Installs the package into a fresh prefix, copies the author's project away from this tree, builds
# it with nothing but find_package(Turnpike), and keeps the plugin. Then spoils one installed header
# and sees that the package refuses itself.
cmake_minimum_required(VERSION 3.25)
set(place ${BINARY}/tests/package/work)
file(REMOVE_RECURSE ${place} ${PLUGINS})
file(MAKE_DIRECTORY ${place} ${PLUGINS})
file(COPY ${SOURCE}/ DESTINATION ${place}/acme)

function(run)
  execute_process(COMMAND ${ARGV} RESULT_VARIABLE code OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT code EQUAL 0)
    message(FATAL_ERROR "failed (${code}): ${ARGV}\n${output}")
  endif()
endfunction()
set(configure ${CMAKE_COMMAND} -S ${place}/acme -G ${GENERATOR}
  -DCMAKE_CXX_COMPILER=${COMPILER} -DCMAKE_CXX_FLAGS=${FLAGS} -DCMAKE_PREFIX_PATH=${place}/prefix
  -DCMAKE_FIND_USE_PACKAGE_REGISTRY=OFF)

run(${CMAKE_COMMAND} --install ${BINARY} --component sdk --prefix ${place}/prefix)
run(${configure} -B ${place}/build)
run(${CMAKE_COMMAND} --build ${place}/build)
file(COPY ${place}/build/acme.so DESTINATION ${PLUGINS})

file(APPEND ${place}/prefix/include/turnpike/call.h "\n// changed after it was installed\n")
execute_process(COMMAND ${configure} -B ${place}/spoilt
  RESULT_VARIABLE code OUTPUT_VARIABLE output ERROR_VARIABLE output)
if(code EQUAL 0 OR NOT output MATCHES "not[ \n]+those[ \n]+that[ \n]+were[ \n]+installed")
  message(FATAL_ERROR "a changed header was not refused (${code}):\n${output}")
endif()
