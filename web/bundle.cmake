# Bundles the viewer's page and widget with three.js, by npm and esbuild: cmake -DNPM=... -DSOURCE=... -DBINARY=... -P bundle.cmake
# What cannot be had is said and left out: everything but the viewer works without it.
file(MAKE_DIRECTORY ${BINARY})
file(COPY ${SOURCE}/package.json ${SOURCE}/package-lock.json ${SOURCE}/src DESTINATION ${BINARY})
execute_process(
  COMMAND ${NPM} ci --ignore-scripts --no-audit --no-fund --loglevel=error
  WORKING_DIRECTORY ${BINARY} RESULT_VARIABLE failed OUTPUT_QUIET ERROR_VARIABLE why)
if(failed)
  message(WARNING "The viewer is left out: npm cannot install three.js and esbuild.\n${why}")
  return()
endif()
foreach(entry "page;iife" "widget;esm")
  list(GET entry 0 name)
  list(GET entry 1 format)
  execute_process(
    COMMAND ${NPM} exec --offline -- esbuild src/${name}.js --bundle --minify --format=${format} --charset=utf8
            --legal-comments=inline --log-level=warning --outfile=${name}.js
    WORKING_DIRECTORY ${BINARY} RESULT_VARIABLE failed OUTPUT_QUIET ERROR_VARIABLE why)
  if(failed)
    message(WARNING "The viewer is left out: esbuild fails.\n${why}")
    return()
  endif()
endforeach()
