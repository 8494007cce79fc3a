# powercut_add_cuckoo(<name>): one scheme of the cuckoo family, from the shared table and the folder's target.cc.
set(POWERCUT_CUCKOO_SOURCES "")
foreach(file IN ITEMS arrays draw insert options path recover resize search slots threads update verify)
  list(APPEND POWERCUT_CUCKOO_SOURCES ${PROJECT_SOURCE_DIR}/targets/common/cuckoo/${file}.cc)
endforeach()
powercut_add_common(NAME cuckoo SOURCES ${POWERCUT_CUCKOO_SOURCES})

function(powercut_add_cuckoo name)
  powercut_add_target(NAME ${name} SOURCES target.cc COMMON cuckoo)
  powercut_add_fidelity(NAME ${name} SOURCES fidelity/main.cc
                        ${PROJECT_SOURCE_DIR}/targets/common/cuckoo/fidelity/bench_table.cc)
endfunction()
