# turnpike_add_plugin(name [BLOCKING] sources... [LINKS libraries...])
#
# The only way to build a plugin, in this tree or outside (the installed package includes this
# file): a MODULE without `lib` prefix, hidden visibility, one exported symbol, all references
# resolved at link time.
#
# A function whose own variables take more than 16 KiB of stack is an error: cooperative code has
# only 64 KiB for all its nested calls, and an overflow ends the gateway. Keep the data on the heap,
# or make the plugin `blocking`, in its descriptor and here (BLOCKING): it then runs on threads with
# normal stacks. Link a library of the plugin's own to Turnpike::cooperative to apply the same
# limit; prebuilt libraries are not checked.

if(NOT TURNPIKE_SDK_INCLUDE_DIR)
  cmake_path(SET TURNPIKE_SDK_INCLUDE_DIR NORMALIZE ${CMAKE_CURRENT_LIST_DIR}/../sdk)
endif()
set(TURNPIKE_PLUGIN_VERSION_SCRIPT ${CMAKE_CURRENT_LIST_DIR}/plugin.map)

# The SDK's text is part of the build fingerprint: a plugin built against other headers is refused.
file(GLOB _turnpike_sdk_headers ${TURNPIKE_SDK_INCLUDE_DIR}/turnpike/*.h)
list(SORT _turnpike_sdk_headers)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${_turnpike_sdk_headers})
set(_turnpike_sdk_text "")
foreach(_header IN LISTS _turnpike_sdk_headers)
  file(SHA256 ${_header} _hash)
  string(APPEND _turnpike_sdk_text ${_hash})
endforeach()
string(SHA256 TURNPIKE_SDK_HASH "${_turnpike_sdk_text}")
string(SUBSTRING ${TURNPIKE_SDK_HASH} 0 16 TURNPIKE_SDK_HASH)

if(NOT TARGET Turnpike::plugin_sdk)
  # Headers without the hash definition, for code that includes no descriptor: a changed SDK comment
  # then recompiles only the includers of that header.
  add_library(turnpike_sdk_headers INTERFACE)
  target_include_directories(turnpike_sdk_headers INTERFACE ${TURNPIKE_SDK_INCLUDE_DIR})
  target_compile_features(turnpike_sdk_headers INTERFACE cxx_std_20)
  add_library(Turnpike::sdk_headers ALIAS turnpike_sdk_headers)
  add_library(turnpike_plugin_sdk INTERFACE)
  target_link_libraries(turnpike_plugin_sdk INTERFACE turnpike_sdk_headers)
  target_compile_definitions(turnpike_plugin_sdk INTERFACE TURNPIKE_SDK_HASH="${TURNPIKE_SDK_HASH}")
  add_library(Turnpike::plugin_sdk ALIAS turnpike_plugin_sdk)
endif()

if(NOT TARGET Turnpike::cooperative)
  add_library(turnpike_cooperative INTERFACE)
  # A frame larger than the guard below the stack must hit the guard instead of skipping it.
  target_compile_options(turnpike_cooperative INTERFACE -fstack-clash-protection)
  if(NOT TURNPIKE_SANITIZER AND NOT CMAKE_CXX_FLAGS MATCHES "-fsanitize")
    target_compile_options(turnpike_cooperative INTERFACE -Werror=frame-larger-than=16384)
  endif()  # instrumented frames are several times as large, as are their stacks
  add_library(Turnpike::cooperative ALIAS turnpike_cooperative)
endif()

function(turnpike_add_plugin name)
  cmake_parse_arguments(ARG "BLOCKING" "" "LINKS" ${ARGN})
  add_library(${name} MODULE ${ARG_UNPARSED_ARGUMENTS})
  set_property(GLOBAL APPEND PROPERTY TURNPIKE_PLUGINS ${name})
  # The language standard is part of the fingerprint, so the surrounding project must not choose it.
  set_target_properties(${name} PROPERTIES
    PREFIX "" CXX_STANDARD 20 CXX_STANDARD_REQUIRED ON CXX_EXTENSIONS OFF
    CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
  if(NOT ARG_BLOCKING)
    target_link_libraries(${name} PRIVATE Turnpike::cooperative)
  endif()
  target_link_libraries(${name} PRIVATE Turnpike::plugin_sdk ${ARG_LINKS})
  # Each start reads and hashes the whole file, most of which is debugging information.
  target_link_options(${name} PRIVATE -Wl,--compress-debug-sections=zlib
    -Wl,--version-script=${TURNPIKE_PLUGIN_VERSION_SCRIPT} -Wl,--exclude-libs,ALL)
  set_target_properties(${name} PROPERTIES LINK_DEPENDS ${TURNPIKE_PLUGIN_VERSION_SCRIPT})
  if(NOT TURNPIKE_SANITIZER AND NOT CMAKE_CXX_FLAGS MATCHES "-fsanitize")
    target_link_options(${name} PRIVATE -Wl,--no-undefined)
  endif()  # a sanitizer's runtime lives in the executable
endfunction()
