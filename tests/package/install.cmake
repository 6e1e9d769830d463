# Installs everything into a fresh prefix and runs it there: the sample data is imported, the
# installed configuration is valid as it is, keeps its data out of share/ and finds the page
# /reference where that is built; pages, licence, examples and the manual are there, and no library
# of the build is.
cmake_minimum_required(VERSION 3.25)
set(prefix ${BINARY}/tests/package/installed)
file(REMOVE_RECURSE ${prefix})

function(run)
  execute_process(COMMAND ${ARGV} WORKING_DIRECTORY /
    RESULT_VARIABLE code OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT code EQUAL 0)
    message(FATAL_ERROR "failed (${code}): ${ARGV}\n${output}")
  endif()
  set(output "${output}" PARENT_SCOPE)
endfunction()

run(${CMAKE_COMMAND} --install ${BINARY} --prefix ${prefix})
file(GLOB_RECURSE archives ${prefix}/*.a)
if(archives)
  message(FATAL_ERROR "static libraries are installed: ${archives}")
endif()
foreach(file doc/turnpike/README.md doc/turnpike/CHANGELOG.md doc/turnpike/LICENSE
    doc/turnpike/SECURITY.md doc/turnpike/docs/operating.md doc/turnpike/docs/interface.md
    doc/turnpike/registry/README.md doc/turnpike/plugins/http/README.md
    doc/turnpike/plugins/govdata/README.md doc/turnpike/plugins/x402/README.md man/man1/turnpike.1
    turnpike/examples/greeter/greeter.cpp turnpike/examples/README.md
    turnpike/config/production.example.yaml turnpike/registry/providers/govdata.yaml)
  if(NOT EXISTS ${prefix}/share/${file})
    message(FATAL_ERROR "share/${file} is not installed")
  endif()
endforeach()

set(config --config ${prefix}/share/turnpike/config/turnpike.yaml)
run(${prefix}/bin/turnpike paths ${config})
if(NOT output MATCHES "data_dir ${prefix}/var/lib/turnpike\n")
  message(FATAL_ERROR "the data is not below var/:\n${output}")
endif()
set(reference ${prefix}/share/turnpike/reference)
if(EXISTS ${reference} AND NOT output MATCHES "reference ${reference}\n")
  message(FATAL_ERROR "the page /reference is not found:\n${output}")
endif()
run(${prefix}/bin/turnpike check ${config})
run(${prefix}/bin/turnpike migrate ${config})
run(${prefix}/bin/govdata-import sample --database ${prefix}/var/lib/turnpike/govdata.db)
run(${prefix}/bin/turnpike check ${config})
if(output MATCHES "note: ")
  message(FATAL_ERROR "check has something to say of what was installed:\n${output}")
endif()
run(${prefix}/bin/turnpike plugin inspect ${prefix}/lib/turnpike/plugins/http.so)
