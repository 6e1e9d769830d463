# The files that `cmake --install` adds to the binaries. For authors of plugins: the SDK headers and
# the CMake package; the headers are listed by hand, since the list is the contract. For operators:
# configuration, registry, pages, examples and the licence.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(_turnpike_package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/Turnpike)
foreach(_header abi call host lane lane_code message offers plugin principal processor provider
    result settings state store)
  list(APPEND _turnpike_installed_headers ${TURNPIKE_SDK_INCLUDE_DIR}/turnpike/${_header}.h)
endforeach()
list(SORT _turnpike_installed_headers)
if(NOT _turnpike_installed_headers STREQUAL _turnpike_sdk_headers)
  message(FATAL_ERROR "framework/sdk/turnpike and the list of installed headers differ")
endif()

configure_package_config_file(
  ${CMAKE_CURRENT_LIST_DIR}/TurnpikeConfig.cmake.in ${CMAKE_BINARY_DIR}/TurnpikeConfig.cmake
  INSTALL_DESTINATION ${_turnpike_package_dir} PATH_VARS CMAKE_INSTALL_INCLUDEDIR)
write_basic_package_version_file(
  ${CMAKE_BINARY_DIR}/TurnpikeConfigVersion.cmake COMPATIBILITY SameMinorVersion ARCH_INDEPENDENT)

install(FILES ${_turnpike_installed_headers}
  DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/turnpike COMPONENT sdk)
# These headers are compiled into the plugin and do not cross its boundary, so they are not part of
# the fingerprint.
install(DIRECTORY ${TURNPIKE_SDK_INCLUDE_DIR}/turnpike/helpers
  DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/turnpike COMPONENT sdk FILES_MATCHING PATTERN "*.h")
install(FILES
    ${CMAKE_BINARY_DIR}/TurnpikeConfig.cmake ${CMAKE_BINARY_DIR}/TurnpikeConfigVersion.cmake
    ${CMAKE_CURRENT_LIST_DIR}/TurnpikePlugin.cmake ${CMAKE_CURRENT_LIST_DIR}/plugin.map
  DESTINATION ${_turnpike_package_dir} COMPONENT sdk)

# The configuration adapted to the installation: data below the prefix's var/, not share/, and the
# bundle of /reference beside the binary instead of in the source tree.
set(_turnpike_shipped ${PROJECT_SOURCE_DIR}/config/turnpike.yaml)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${_turnpike_shipped})
file(READ ${_turnpike_shipped} _turnpike_text)
string(REGEX REPLACE "\ndata_dir: [^#\n]*#[^\n]*"
  "\ndata_dir: ../../../var/lib/turnpike   # database, demo key, control socket; default: var"
  _turnpike_installed "${_turnpike_text}")
string(REGEX REPLACE "\n[^\n]*page /reference[^\n]*\n    reference_directory: [^\n]*" ""
  _turnpike_installed "${_turnpike_installed}")
if(NOT _turnpike_installed MATCHES "var/lib/turnpike" OR
    _turnpike_installed MATCHES "reference_directory|data_dir: ../var")
  message(FATAL_ERROR "config/turnpike.yaml is not written as its installation expects")
endif()
file(WRITE ${CMAKE_BINARY_DIR}/installed/turnpike.yaml "${_turnpike_installed}")
install(FILES ${CMAKE_BINARY_DIR}/installed/turnpike.yaml
    ${PROJECT_SOURCE_DIR}/config/production.example.yaml
  DESTINATION share/turnpike/config)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/registry ${PROJECT_SOURCE_DIR}/examples
    ${PROJECT_SOURCE_DIR}/site
  DESTINATION share/turnpike)

# All documents keep their relative paths, so that links between them remain valid.
file(GLOB_RECURSE _turnpike_documents CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR}
  docs/*.md docs/schemas/*.json examples/*.md plugins/*.md registry/*.md)
foreach(_page LICENSE README.md CHANGELOG.md CONTRIBUTING.md SECURITY.md benchmarks/README.md
    framework/README.md framework/STYLE.md framework/commerce/CRASHES.md
    framework/ledger/CRASHES.md framework/sdk/README.md site/README.md ${_turnpike_documents})
  get_filename_component(_folder ${_page} DIRECTORY)
  install(FILES ${PROJECT_SOURCE_DIR}/${_page} DESTINATION share/doc/turnpike/${_folder})
endforeach()
install(FILES ${PROJECT_SOURCE_DIR}/framework/app/turnpike.1 DESTINATION share/man/man1)
