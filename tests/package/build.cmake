# Installs the package into a fresh prefix, copies the projects of authors away from this tree,
# builds them with nothing but find_package(Turnpike), and keeps the plugins. One of them, whose
# frame is too large for a fiber, builds as a blocking plugin alone. What `turnpike plugin new`
# writes is built and tested the same way. Then spoils one installed header and sees that the
# package refuses itself.
cmake_minimum_required(VERSION 3.25)
set(place ${BINARY}/tests/package/work)
file(REMOVE_RECURSE ${place} ${PLUGINS})
file(MAKE_DIRECTORY ${place} ${PLUGINS})
set(projects acme greeter voucher deep)
foreach(project IN LISTS projects)
  foreach(folder ${SOURCE}/tests/package ${SOURCE}/examples)
    if(EXISTS ${folder}/${project})
      file(COPY ${folder}/${project} DESTINATION ${place})
    endif()
  endforeach()
endforeach()

function(run)
  execute_process(COMMAND ${ARGV} RESULT_VARIABLE code OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT code EQUAL 0)
    message(FATAL_ERROR "failed (${code}): ${ARGV}\n${output}")
  endif()
endfunction()
set(configure ${CMAKE_COMMAND} -G ${GENERATOR} -DCMAKE_CXX_COMPILER=${COMPILER}
  -DCMAKE_CXX_FLAGS=${FLAGS} -DCMAKE_PREFIX_PATH=${place}/prefix
  -DCMAKE_FIND_USE_PACKAGE_REGISTRY=OFF)

run(${CMAKE_COMMAND} --install ${BINARY} --component sdk --prefix ${place}/prefix)
foreach(project acme greeter voucher)
  run(${configure} -S ${place}/${project} -B ${place}/${project}/build)
  run(${CMAKE_COMMAND} --build ${place}/${project}/build)
  file(COPY ${place}/${project}/build/${project}.so DESTINATION ${PLUGINS})
endforeach()

if(FLAGS STREQUAL "")  # a sanitizer's frames are not held to it
  run(${configure} -S ${place}/deep -B ${place}/deep/build)
  run(${CMAKE_COMMAND} --build ${place}/deep/build --target deep_blocking)
  execute_process(COMMAND ${CMAKE_COMMAND} --build ${place}/deep/build --target deep
    RESULT_VARIABLE code OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(code EQUAL 0 OR NOT output MATCHES "frame size of 20[0-9]+ bytes is larger than 16384")
    message(FATAL_ERROR "a frame of 200 kB was not refused (${code}):\n${output}")
  endif()
endif()

foreach(project provider:new_provider lane:new_lane processor:new_processor)
  string(REPLACE ":" ";" project ${project})
  list(POP_FRONT project slot name)
  run(${BINARY}/turnpike plugin new ${slot} ${name} --directory ${place}/${name})
  run(${configure} -S ${place}/${name} -B ${place}/${name}/build)
  run(${CMAKE_COMMAND} --build ${place}/${name}/build)
  run(ctest --test-dir ${place}/${name}/build --output-on-failure)
  run(${BINARY}/turnpike plugin inspect ${place}/${name}/build/${name}.so)
endforeach()

file(APPEND ${place}/prefix/include/turnpike/call.h "\n// changed after it was installed\n")
execute_process(COMMAND ${configure} -S ${place}/acme -B ${place}/spoilt
  RESULT_VARIABLE code OUTPUT_VARIABLE output ERROR_VARIABLE output)
if(code EQUAL 0 OR NOT output MATCHES "not[ \n]+those[ \n]+that[ \n]+were[ \n]+installed")
  message(FATAL_ERROR "a changed header was not refused (${code}):\n${output}")
endif()
