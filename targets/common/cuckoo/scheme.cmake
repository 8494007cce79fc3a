# powercut_add_cuckoo(<name>): one scheme of the cuckoo family, from the shared table and the folder's target.cc.
set(POWERCUT_CUCKOO_SOURCES "")
foreach(file IN ITEMS arrays insert options path recover resize search slots update verify)
  list(APPEND POWERCUT_CUCKOO_SOURCES ${PROJECT_SOURCE_DIR}/targets/common/cuckoo/${file}.cc)
endforeach()

function(powercut_add_cuckoo name)
  powercut_add_target(NAME ${name} SOURCES ${POWERCUT_CUCKOO_SOURCES} target.cc)
  # The paper's figures: built from the same sources.
  add_executable(powercut_fidelity_${name} ${POWERCUT_CUCKOO_SOURCES} target.cc fidelity/main.cc
                 ${PROJECT_SOURCE_DIR}/targets/common/cuckoo/fidelity/bench_table.cc)
  target_compile_definitions(powercut_fidelity_${name} PRIVATE POWERCUT_PMEM_COUNT)
  target_link_libraries(powercut_fidelity_${name} PRIVATE nlohmann_json::nlohmann_json)
  set_target_properties(powercut_fidelity_${name} PROPERTIES OUTPUT_NAME powercut-fidelity-${name})
endfunction()
