# Installs everything into a fresh prefix and runs it there: the sample data is imported, the
# installed configuration is valid, and no library of the build lies there.
cmake_minimum_required(VERSION 3.25)
set(prefix ${BINARY}/tests/package/installed)
file(REMOVE_RECURSE ${prefix})

function(run)
  execute_process(COMMAND ${ARGV} WORKING_DIRECTORY /
    RESULT_VARIABLE code OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT code EQUAL 0)
    message(FATAL_ERROR "failed (${code}): ${ARGV}\n${output}")
  endif()
endfunction()

run(${CMAKE_COMMAND} --install ${BINARY} --prefix ${prefix})
file(GLOB_RECURSE archives ${prefix}/*.a)
if(archives)
  message(FATAL_ERROR "static libraries are installed: ${archives}")
endif()
run(${prefix}/bin/govdata-import sample --database ${prefix}/govdata.db)
run(${prefix}/bin/turnpike check --config ${prefix}/share/turnpike/config/turnpike.yaml
  --set data_dir=${prefix}/var)
run(${prefix}/bin/turnpike plugin inspect ${prefix}/lib/turnpike/plugins/http.so)
