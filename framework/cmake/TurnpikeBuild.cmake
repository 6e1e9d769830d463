# TURNPIKE_BUILD: the commit of this source tree, for /version; "unknown" outside of a git checkout.
# Determined again when HEAD moves.
set(TURNPIKE_BUILD unknown)
find_program(TURNPIKE_GIT git)
if(TURNPIKE_GIT)
  execute_process(COMMAND ${TURNPIKE_GIT} -C ${PROJECT_SOURCE_DIR} rev-parse --short=12 HEAD
    OUTPUT_VARIABLE _commit OUTPUT_STRIP_TRAILING_WHITESPACE RESULT_VARIABLE _result ERROR_QUIET)
  execute_process(
    COMMAND ${TURNPIKE_GIT} -C ${PROJECT_SOURCE_DIR} rev-parse --path-format=absolute
      --git-path logs/HEAD
    OUTPUT_VARIABLE _head_log OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  if(_result EQUAL 0)
    set(TURNPIKE_BUILD ${_commit})
    if(EXISTS "${_head_log}")
      set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${_head_log}")
    endif()
  endif()
endif()
