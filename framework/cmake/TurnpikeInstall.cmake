# What `cmake --install` gives to authors of plugins: the SDK headers and the CMake package. The
# headers are listed by hand: the list is the contract.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(_turnpike_package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/Turnpike)
foreach(_header abi call host lane message plugin provider result settings state store)
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
install(FILES
    ${CMAKE_BINARY_DIR}/TurnpikeConfig.cmake ${CMAKE_BINARY_DIR}/TurnpikeConfigVersion.cmake
    ${CMAKE_CURRENT_LIST_DIR}/TurnpikePlugin.cmake ${CMAKE_CURRENT_LIST_DIR}/plugin.map
  DESTINATION ${_turnpike_package_dir} COMPONENT sdk)
