# Documents beside the program.
set(documents share/doc/underlap)
install(FILES README.md CHANGELOG.md LICENSE DESTINATION ${documents})
install(FILES bench/METRICS.md DESTINATION ${documents}/bench)
install(DIRECTORY docs/ DESTINATION ${documents}/docs)
