# voltmill: grinds archived telescope voltages into spectra. `make help` lists the targets.
.SUFFIXES:
.DELETE_ON_ERROR:

CFLAGS ?= -O3 -g
PREFIX ?= /usr/local
SANITIZE ?=
WERROR ?=
# OPENCL=0 builds without the OpenCL backend and its libraries.
OPENCL ?= 1
# SLURM=1 lets deps install a SLURM, for tests/slurm to start one; they are skipped without.
SLURM ?=
PKG_CONFIG ?= pkg-config
PYTHON ?= /usr/bin/python3
# Asked once, when first needed, not for every object: $(call once,NAME,VALUE).
once = $(eval $(1) := $(2))$($(1))
# Which pkg-config modules hold MPI and parallel HDF5; Debian's names come first.
MPI_MODULE ?= $(call once,MPI_MODULE,$(firstword $(foreach m,ompi-c mpich,$(if $(shell $(PKG_CONFIG) --exists $(m) 2>/dev/null && echo y),$(m)))))
HDF5_MODULE ?= $(call once,HDF5_MODULE,$(firstword $(foreach m,hdf5-openmpi hdf5-mpi hdf5,$(if $(shell $(PKG_CONFIG) --exists $(m) 2>/dev/null && echo y),$(m)))))
HAS_OPENCL := $(filter-out 0 no,$(OPENCL))
MODULES = $(MPI_MODULE) $(HDF5_MODULE) yaml-0.1 zlib libdeflate liblz4 libzstd liblzf cfitsio fftw3 fftw3f erfa $(if $(HAS_OPENCL),OpenCL)
MISSING = $(if $(MPI_MODULE),,MPI) $(if $(HDF5_MODULE),,HDF5) $(foreach m,$(MODULES),$(if $(shell $(PKG_CONFIG) --exists $(m) 2>/dev/null && echo y),,$(m)))
# -isystem: our warnings are about our code.
LIB_CFLAGS ?= $(call once,LIB_CFLAGS,$(patsubst -I%,-isystem %,$(shell $(PKG_CONFIG) --cflags $(MODULES) 2>/dev/null)))
LIBS = $(call once,LIBS,$(shell $(PKG_CONFIG) --libs $(MODULES) 2>/dev/null))
# Debian calls HDF5's library hdf5, or since 2.2 hdf5_openmpi: its high-level library has the same name and _hl.
LIB_LIBS ?= $(addsuffix _hl,$(or $(filter-out %_hl,$(filter -lhdf5%,$(LIBS))),-lhdf5)) $(LIBS) -ldl -lm

# Enumerators are our integer constants, in floating-point sums too: clang 19 warns of that.
WARNINGS = -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wstrict-prototypes -Wmissing-prototypes \
           -Wno-enum-float-conversion -Wvla -Wundef -Wwrite-strings $(if $(WERROR),-Werror)
comma := ,
FLAVOUR := $(if $(SANITIZE),$(subst $(comma),-,$(SANITIZE)),release)$(if $(HAS_OPENCL),,-no-opencl)
BUILD ?= build/$(FLAVOUR)
VERSION := $(shell cat VERSION)
# Aligned functions: loops lie in cache lines alike, whatever other code comes before them (15 % of a job's time once).
ALL_CFLAGS = -std=c11 -D_GNU_SOURCE -DVOLTMILL_VERSION='"$(VERSION)"' \
             $(if $(HAS_OPENCL),-DVOLTMILL_OPENCL) -Isrc $(WARNINGS) -fopenmp \
             -fno-math-errno -ffp-contract=off -falign-functions=64 $(CFLAGS) $(LIB_CFLAGS) \
             $(if $(SANITIZE),-fsanitize=$(SANITIZE) -fno-omit-frame-pointer -fno-sanitize-recover=all $(ONE_COPY))
# A copy for each constant argument is for speed alone, and takes compilers long to check: sanitizers see one of all.
ONE_COPY = -Dalways_inline=unused
# Our calls of these are made again where a signal has interrupted them (src/io/again.c).
AGAIN = open openat stat lstat fstat fsync fdatasync ftruncate sync_file_range
ALL_LDFLAGS = -fopenmp -pthread $(AGAIN:%=-Wl,--wrap=%) $(LDFLAGS) $(if $(SANITIZE),-fsanitize=$(SANITIZE))

# VkFFT's header takes longest, so it is the first; what only writes kernels need not be optimised, and its 32,000 lines,
# which are not ours, would take a minute under the sanitizers. gcc warns of it where it is inlined, too. CI has VKFFT_O=-O0.
VKFFT_O ?= -O1
VKFFT := src/compute/opencl/fft_vkfft.c
$(BUILD)/$(VKFFT:.c=.o): LOOP_CFLAGS = $(if $(SANITIZE),-O0 -fno-sanitize=all,$(VKFFT_O)) -Wno-unknown-warning-option -Wno-maybe-uninitialized
SOURCES := $(sort $(wildcard src/*/*.c src/*/*/*.c src/*/*/*/*.c))
SOURCES := $(if $(HAS_OPENCL),$(VKFFT) $(filter-out $(VKFFT),$(SOURCES)),$(filter-out src/compute/opencl/%,$(SOURCES)))
IS_X86 = $(call once,IS_X86,$(if $(findstring x86_64,$(shell $(CC) -dumpmachine)),y))
FUSED_KERNELS := $(patsubst %.c,%,$(wildcard src/compute/cpu/*/*kernels.c) src/compute/cpu/dedisperse/strips.c)
KERNELS := $(FUSED_KERNELS) $(patsubst %.c,%,$(wildcard src/compute/boxcar/*kernels.c src/dsp/*kernels.c src/input/hdf5/*kernels.c))
OBJECTS := $(SOURCES:%.c=$(BUILD)/%.o) $(if $(IS_X86),$(foreach set,avx2 avx512,$(KERNELS:%=$(BUILD)/%.$(set).o)))
TEST_SOURCES := $(sort $(wildcard tests/unit/test_*.c tests/mpi/test_*.c))
TEST_SOURCES := $(if $(HAS_OPENCL),$(TEST_SOURCES),$(filter-out tests/unit/test_opencl% tests/unit/test_fused%,$(TEST_SOURCES)))
TEST_PROGRAMS := $(TEST_SOURCES:%.c=$(BUILD)/%)

Q := $(if $(V),,@)
# Steps of this build, counted by make itself; the first one that is run asks.
TOTAL = $(call once,TOTAL,$(shell rm -f $(BUILD)/steps; $(MAKE) -n TOTAL=0 $(MAKEOVERRIDES) $(MAKECMDGOALS) 2>/dev/null | grep -c 'tests/tools/step $(BUILD)/steps'))
step = $(if $(V),,@tests/tools/step $(BUILD)/steps $(TOTAL) '$(1) $(patsubst $(BUILD)/%,%,$@)' )

## all: build the program, build/release/voltmill
.PHONY: all
all: $(BUILD)/voltmill

$(BUILD)/voltmill: $(BUILD)/src/main.o $(BUILD)/libvoltmill.a
	$(call step,LD)$(CC) $(ALL_LDFLAGS) -o $@ $< $(WHOLE) $(LIB_LIBS)
	$(Q)ln -sfn $(CURDIR)/python $(@D)/python

# The whole library goes in, so that two global functions of one name do not pass unseen.
WHOLE = -Wl,--whole-archive $(BUILD)/libvoltmill.a -Wl,--no-whole-archive

$(BUILD)/libvoltmill.a: $(OBJECTS)
	$(Q)rm -f $@
	$(call step,AR)$(AR) rcs $@ $^

# Said once, by name, before compilers speak of headers.
$(BUILD)/libraries: Makefile
	$(Q)mkdir -p $(@D)
	$(Q)missing='$(strip $(MISSING))'; [ -z "$$missing" ] || \
	  { echo "pkg-config does not find: $$missing (make deps installs them, or names the packages)" >&2; exit 1; }
	$(Q)touch $@

define COMPILE
	$(if $(wildcard $(@D)),,$(Q)mkdir -p $(@D))
	$(call step,CC)$(CC) $(ALL_CFLAGS) $(LOOP_CFLAGS) -MMD -MP -c -o $@ $<
endef
$(BUILD)/%.o: %.c Makefile VERSION | $(BUILD)/libraries
	$(COMPILE)
# Once more for another instruction set.
$(BUILD)/%.avx2.o: %.c Makefile VERSION | $(BUILD)/libraries
	$(COMPILE)
$(BUILD)/%.avx512.o: %.c Makefile VERSION | $(BUILD)/libraries
	$(COMPILE)

# Kernels (src/base/lanes.h), for each instruction set of x86-64; the program takes the best that the machine has. In the
# CPU backend multiplications and additions become one operation where there is one.
AVX2 = $(if $(IS_X86),-mavx2 -mfma -mprfchw)
AVX512 = $(if $(IS_X86),-mavx512f -mavx512bw -mavx512dq -mavx512vl -mfma -mprfchw -mprefer-vector-width=512)
# gcc from 13 on leaves some of them apart in chains of 256 bits, in one loop and not in the next: other bytes for another cut.
FUSE_ALL = $(call once,FUSE_ALL,$(shell echo | $(CC) -Werror --param=avoid-fma-max-bits=0 -E - >/dev/null 2>&1 && echo --param=avoid-fma-max-bits=0))
$(foreach end,o avx2.o avx512.o,$(FUSED_KERNELS:%=$(BUILD)/%.$(end))): CONTRACT = -ffp-contract=fast $(FUSE_ALL)
$(KERNELS:%=$(BUILD)/%.o): LOOP_CFLAGS = $(CONTRACT)
$(KERNELS:%=$(BUILD)/%.avx2.o): LOOP_CFLAGS = $(CONTRACT) -DLANES=8 $(AVX2)
$(KERNELS:%=$(BUILD)/%.avx512.o): LOOP_CFLAGS = $(CONTRACT) -DLANES=16 $(AVX512)

# Compilers then make vectors of what chooses between two numbers: nothing looks at the flags of exceptions.
$(BUILD)/src/pipeline/finish/%.o: LOOP_CFLAGS = -fno-trapping-math

# What benchmarks compare with is a plain loop.
$(BUILD)/src/cli/cmd_bench_fir.o: LOOP_CFLAGS = -fno-tree-vectorize -fno-tree-slp-vectorize

# The kernels are part of the program (.incbin).
$(BUILD)/src/compute/opencl/program.o: $(wildcard kernels/*.cl kernels/*/*.cl)

# Test programs know nothing of the rooms that only commands use: under the sanitizers these are not even built. Where
# a new test does not find a function of theirs, its room is no more one of them.
UNTESTED = cli/cmd_% cli/csv% cli/describe% cli/elsewhere% cli/plan_job% plot/% verify/% \
           pipeline/first_scales% pipeline/weights% run/batch% run/grid%
TESTED = $(BUILD)/$(if $(SANITIZE),tested,libvoltmill).a
$(BUILD)/tested.a: $(filter-out $(addprefix $(BUILD)/src/,$(addsuffix .o,$(UNTESTED))),$(OBJECTS))
	$(Q)rm -f $@
	$(call step,AR)$(AR) rcs $@ $^

# What only checks need not be optimised for long; with SELDOM=-O0 nor rooms whose code runs seldom in unit programs:
# optimising what sanitizers add takes twice as long as the rest of compiling (pipeline/finish has a flag of its own).
SELDOM ?=
$(BUILD)/tests/%.o: LOOP_CFLAGS = $(or $(SELDOM),-O1)
$(foreach room,base bench cli compute/opencl input io job output pipeline plan product ranks run tune verify,$(BUILD)/src/$(room)/%.o): LOOP_CFLAGS = $(SELDOM)

$(BUILD)/tests/%: $(BUILD)/tests/%.o $(if $(HAS_OPENCL),$(BUILD)/tests/unit/one_context.o) $(TESTED)
	$(call step,LD)$(CC) $(ALL_LDFLAGS) $(TEST_LDFLAGS) -o $@ $^ $(LIB_LIBS) -lcmocka

.PRECIOUS: $(BUILD)/%.o

## deps: install what is missing to build and test (Debian, Ubuntu); elsewhere name the packages
.PHONY: deps
deps:
	$(Q)OPENCL=$(OPENCL) SLURM=$(SLURM) tests/tools/deps

.PHONY: test-deps
test-deps:
	$(Q)OPENCL=$(OPENCL) SLURM=$(SLURM) PYTHON=$(PYTHON) PKG_CONFIG=$(PKG_CONFIG) tests/tools/deps --check

## demo: install what is missing, make a sample observation, grind it on 2 ranks, show what came out
.PHONY: demo
demo: deps
	$(Q)$(MAKE) --no-print-directory all
	$(Q)tests/tools/demo $(BUILD)/voltmill

## test: all tests; one folder or script: make test TESTS=tests/cli/use.sh
TESTS ?= $(foreach tests,slurm/*.sh faults/*.sh clients/*.py guides/*.sh cli/*.sh,$(filter-out %/common.py,$(sort $(wildcard tests/$(tests)))))
# What takes longest first, so that none is left alone at the end; the small unit tests last.
LONGEST = $(addprefix tests/,slurm/scripts.sh cli/opencl.sh) $(addprefix $(BUILD)/tests/unit/test_,opencl_channelise \
    opencl_dedisperse filter tune_bank opencl coherency dedisperse channelise synthesise \
    chirp filter_coefficients fir_design filter_report flat_cutoff) \
    $(addprefix tests/,faults/lost.sh cli/resume.sh faults/changed.sh faults/allocate.sh faults/dedisperse.sh faults/late.sh)
longest_first = $(foreach one,$(LONGEST),$(filter $(one),$(1))) $(filter-out $(LONGEST),$(1))
# As many at once as there are processors, and with scripts two more: their ranks often wait.
PROVE = prove --timer --failures --comments $(if $(V),-v) -e tests/run-test
UNIT_PROVE = $(PROVE) -j $(shell nproc)
TEST_PROVE = $(PROVE) -j $(shell expr $$(nproc) + 3)
.PHONY: test
test: test-deps
	$(Q)$(MAKE) --no-print-directory all test-programs
	$(Q)VOLTMILL=$(abspath $(BUILD))/voltmill PYTHON=$(PYTHON) $(TEST_PROVE) $(call longest_first,$(TESTS) $(TEST_PROGRAMS))

## check: one test by its name, or the unit tests of a source file, what they need built before: make check T=test_chunk (or T=bytes, T=faults/each), make check F=src/plan/chunk.c
NAMED = $(firstword $(filter-out tests/fuzz/%,$(wildcard $(T) tests/$(T) tests/*/$(T) $(foreach end,.c .sh .py,tests/$(T)$(end) tests/*/$(T)$(end)))))
CHECKED = $(call once,CHECKED,$(if $(F),$(sort $(wildcard tests/*/test_$(basename $(notdir $(F))).c) \
            $(shell grep -l '"$(patsubst src/%,%,$(basename $(F))).h"' $(TEST_SOURCES))),$(NAMED)))
.PHONY: check
check: test-deps
	$(if $(CHECKED),,$(error $(if $(F),no unit test names $(basename $(notdir $(F))): ,no test of the name "$(T)": make check T=NAME; )tests/README.md lists them))
	$(Q)$(MAKE) --no-print-directory $(if $(filter %.c,$(CHECKED)),$(CHECKED:%.c=$(BUILD)/%),all $(SHIMS)) $(SMALL_POCL)
	$(Q)VOLTMILL=$(abspath $(BUILD))/voltmill PYTHON=$(PYTHON) $(PROVE) -v $(if $(filter %.c,$(CHECKED)),$(CHECKED:%.c=$(BUILD)/%),$(CHECKED))

## test-unit: the unit tests alone, for example with SANITIZE=address,undefined; QUICK=1: without those that take longest; T=NAME: one
.PHONY: test-unit
test-unit: test-deps
	$(Q)$(MAKE) --no-print-directory unit-programs
	$(Q)$(UNIT_PROVE) $(call longest_first,$(UNIT_PROGRAMS))

## test-long: what takes too long for every change (1,500 attacks, every format killed and failing, 200 storages, runs killed and killed again, every kernel)
LONG_TESTS = $(sort $(wildcard tests/long/*.sh tests/long/*.py))
# Scripts that draw a sample take all here; some of them are run by one of tests/long.
SAMPLED_TESTS = $(filter-out $(LONG_TESTS:tests/long/%=tests/faults/%) tests/clients/common.py,$(sort $(shell grep -lE '^ *sampled |[^_]sampled\(' tests/cli/*.sh tests/faults/*.sh tests/clients/*.py)))
.PHONY: test-long
test-long: test-deps
	$(Q)$(MAKE) --no-print-directory all test-programs
	$(Q)$(MAKE) --no-print-directory lint LINT_COMMITS=all
	$(Q)VOLTMILL=$(abspath $(BUILD))/voltmill PYTHON=$(PYTHON) TEST_TIMEOUT=3600 VOLTMILL_TEST_ALL=1 \
	  $(PROVE) $(filter %/test_channelise_steps %/test_coherency %/test_correlate %/test_filter %/test_filter_fused %/test_opencl %/test_opencl_channelise \
	    %/test_opencl_dedisperse %/test_opencl_filter %/test_opencl_mixed %/test_opencl_peaks \
	    %/test_oversampled %/test_synthesise %/test_opencl_synthesise %/test_tune_bank,$(TEST_PROGRAMS)) tests/cli/oclgrind.sh $(SAMPLED_TESTS) $(LONG_TESTS)

## test-matrix: build and test on bare Debian 12 and 13, by gcc and clang, with Open MPI and MPICH, without OpenCL (as root, an hour); MATRIX_ROWS names some
MATRIX_ROWS ?=
.PHONY: test-matrix
test-matrix:
	$(Q)tests/tools/matrix $(MATRIX_ROWS)

## fuzz: hostile job files, archives, products, journals and cache entries for FUZZ_SECONDS (60) each; needs clang
FUZZ_CC ?= clang
# Its runtime is a package of its own, and one thread is enough here: gcc's says which it is.
NO_OPENMP = -fno-openmp -Wno-unknown-pragmas
FUZZ_SECONDS ?= 60
FUZZ_TARGETS ?= $(patsubst tests/fuzz/fuzz_%.c,%,$(wildcard tests/fuzz/fuzz_*.c))
.PHONY: fuzz
fuzz:
	$(Q)OPENCL=$(OPENCL) FUZZ=1 tests/tools/deps
	$(Q)$(MAKE) --no-print-directory BUILD=build/fuzz CC=$(FUZZ_CC) CFLAGS="-O1 -g $(NO_OPENMP)" \
	  SANITIZE=fuzzer-no-link,address,undefined $(FUZZ_TARGETS:%=build/fuzz/tests/fuzz/fuzz_%)
	$(Q)tests/fuzz/run build/fuzz/tests/fuzz $(FUZZ_SECONDS) $(FUZZ_TARGETS)

# Of the program, what reads that which others wrote. A library: each target takes what it needs.
FUZZ_OBJECTS = $(patsubst %.c,$(BUILD)/%.o,$(wildcard tests/fuzz/common.c tests/fuzz/archive.c)) \
               $(filter $(BUILD)/src/base/% $(BUILD)/src/io/% $(BUILD)/src/job/% $(BUILD)/src/dsp/% \
                        $(BUILD)/src/synth/synth_spec% $(BUILD)/src/input/% \
                        $(BUILD)/src/output/journal% \
                        $(BUILD)/src/plan/chunk% $(BUILD)/src/product/%,$(OBJECTS))
$(BUILD)/tests/fuzz/fuzzed.a: $(FUZZ_OBJECTS)
	$(Q)rm -f $@
	$(call step,AR)$(AR) rcs $@ $^

$(BUILD)/tests/fuzz/fuzz_%: $(BUILD)/tests/fuzz/fuzz_%.o $(BUILD)/tests/fuzz/fuzzed.a
	$(call step,LD)$(CC) -fsanitize=fuzzer,address,undefined -o $@ $^ $(LIB_LIBS) -lgomp

# What scripts preload or run beside the program.
SHIMS = $(BUILD)/tests/faults/io_shim.so $(BUILD)/tests/faults/attack_shim.so $(BUILD)/tests/tools/bench_bitshuffle \
    $(BUILD)/tests/tools/no-curl/built $(BUILD)/tests/unit/test_visibilities_kind \
    $(if $(HAS_OPENCL),$(BUILD)/tests/faults/opencl_shim.so $(BUILD)/tests/unit/opencl_kernels \
      $(BUILD)/tests/unit/opencl_dedisperse_kernels $(BUILD)/tests/unit/opencl_filter_kernels \
       $(BUILD)/tests/unit/opencl_peaks_kernels $(BUILD)/tests/unit/opencl_synthesise_kernels $(BUILD)/tests/unit/opencl_beamform_kernels)

# The device of tests, whose programs take less time to build.
SMALL_POCL = $(if $(HAS_OPENCL),build/small-pocl/made)
build/small-pocl/made: tests/tools/small-pocl tests/tools/small_library.py $(wildcard kernels/*.cl kernels/*/*.cl)
	$(Q)CC="$(CC)" PYTHON="$(PYTHON)" $< $(@D)
	$(Q)touch $@

# Built by test through a second make, after what the tests need was checked.
.PHONY: test-programs unit-programs
test-programs: $(TEST_PROGRAMS) $(SHIMS) $(SMALL_POCL)
UNIT_PROGRAMS = $(filter-out $(QUICK:%=$(LONGEST)),$(filter $(BUILD)/tests/unit/$(or $(T),%),$(TEST_PROGRAMS)))
unit-programs: $(UNIT_PROGRAMS) $(SMALL_POCL)

$(BUILD)/tests/%.so: tests/%.c Makefile
	$(if $(wildcard $(@D)),,$(Q)mkdir -p $(@D))
	$(call step,LD)$(CC) -std=c11 -D_GNU_SOURCE $(WARNINGS) -O2 -fPIC -shared -o $@ $<

# In the place of libraries that HDF5 and cfitsio load, where these can do with it (Debian's can), else not there.
$(BUILD)/tests/tools/no-curl/built: tests/tools/no_curl.c Makefile
	$(Q)mkdir -p $(@D)
	$(Q)for name in libcurl:CURL_OPENSSL_4 libcurl-gnutls:CURL_GNUTLS_3; do \
	  echo "$${name#*:} { *; };" >$(@D)/versions && $(CC) -std=c11 $(WARNINGS) -O2 -fPIC -shared \
	    -Wl,--version-script=$(@D)/versions -Wl,-soname,$${name%:*}.so.4 -o $(@D)/$${name%:*}.so.4 $< || exit; done
	$(Q)echo 'int H5open(void); int main(void) { return H5open() < 0; }' | $(CC) -xc - -o $(@D)/try -Wl,--no-as-needed $(LIB_LIBS) && \
	  LD_BIND_NOW=1 LD_LIBRARY_PATH=$(@D) $(@D)/try 2>/dev/null || rm -f $(@D)/libcurl*.so.4
	$(Q)rm -f $(@D)/try && touch $@

## bench: small tables of the CPU as in docs/performance.md (two minutes); TMPDIR=/dev/shm leaves the disk out
.PHONY: bench
bench:
	$(Q)$(MAKE) --no-print-directory all
	$(Q)tests/tools/bench $(abspath $(BUILD))/voltmill

## bench-jobs: whole jobs of 18 shapes beside their bounds, from the command to the prompt (8 minutes), BENCH_JOBS="--beside PROGRAM --backend opencl"
BENCH_JOBS ?=
.PHONY: bench-jobs
bench-jobs:
	$(Q)$(MAKE) --no-print-directory all
	$(Q)VOLTMILL=$(abspath $(BUILD))/voltmill tests/tools/bench-jobs $(BENCH_JOBS)

## bench-formats: whole jobs on recorders' files beside the same samples in the native layout (minutes); TMPDIR=/dev/shm leaves the disk out
BENCH_FORMATS ?=
.PHONY: bench-formats
bench-formats:
	$(Q)$(MAKE) --no-print-directory all
	$(Q)tests/tools/bench-formats $(BENCH_FORMATS) $(abspath $(BUILD))/voltmill

## bench-bitshuffle: bitshuffled chunks undone and read, beside LZ4 alone and the plugin of Python's hdf5plugin, if that is there (a minute)
BITSHUFFLE_PLUGIN ?= $(shell $(PYTHON) -c 'import hdf5plugin; print(hdf5plugin.get_config().registered_filters["bshuf"])' 2>/dev/null)
.PHONY: bench-bitshuffle
bench-bitshuffle:
	$(Q)$(MAKE) --no-print-directory $(BUILD)/tests/tools/bench_bitshuffle
	$(Q)$(BUILD)/tests/tools/bench_bitshuffle 50 $(BITSHUFFLE_PLUGIN)

## qualification: measures on this machine what README.md promises, and writes a page with a verdict for each claim (minutes)
QUALIFICATION ?= out/qualification.html
.PHONY: qualification
qualification:
	$(Q)$(MAKE) --no-print-directory all
	$(Q)$(PYTHON) tests/tools/qualification $(BUILD)/voltmill $(QUALIFICATION)

## scale: strong and weak scaling over the ranks that this machine holds, small; see tests/scale
.PHONY: scale
scale:
	$(Q)$(MAKE) --no-print-directory all
	$(Q)tests/scale $(abspath $(BUILD))/voltmill

## figures: draws sample rates over taps, channels and bits, dedispersion over telescopes, and the completeness of a search, into out/figures (with matplotlib)
FIGURES ?= out/figures
.PHONY: figures
figures:
	$(Q)$(MAKE) --no-print-directory all
	$(Q)tests/tools/figures $(FIGURES) $(abspath $(BUILD))/voltmill

## lint: arrows between modules, circles, headings, layout, static checks, lines of code, comments, subjects of commits, documents and their tables; builds nothing. Static checks are of sources that the last LINT_COMMITS commits changed (LINT_COMMITS=all: of all, a minute more)
LINT_COMMITS ?= 60
.PHONY: lint
lint:
	$(Q)LINT_COMMITS=$(LINT_COMMITS) tests/tools/lint-layout & layout=$$!; status=0; tests/tools/lint-arrows || status=1; \
	  tests/tools/count-lines --check || status=1; tests/tools/lint-structs || status=1; \
	  tests/tools/lint-jumps || status=1; \
	  tests/tools/lint-comments || status=1; tests/tools/lint-docs || status=1; \
	  tests/tools/qualification --claims | grep 'NO CHECK\|without a claim' && status=1; \
	  tests/tools/docs-tables docs/job-schema.json docs/job-file.md | diff - docs/job-file.md || \
	  { echo "docs/job-file.md: its tables are not those of docs/job-schema.json: make docs-tables"; status=1; }; \
	  tests/tools/man docs/options.tsv docs/voltmill.1 | diff - docs/voltmill.1 || \
  { echo "docs/voltmill.1: it is not made of docs/options.tsv: make man"; status=1; }; \
  wait $$layout && exit $$status

## man: write the table of commands and options, as the program has it, into docs/options.tsv, and the page docs/voltmill.1 from it
.PHONY: man
man: all
	$(Q)$(BUILD)/voltmill --options >$(BUILD)/options.tsv && cp $(BUILD)/options.tsv docs/options.tsv
	$(Q)tests/tools/man docs/options.tsv docs/voltmill.1 >$(BUILD)/voltmill.1
	$(Q)cp $(BUILD)/voltmill.1 docs/voltmill.1

## docs-tables: write the job's schema, as the program has it, into docs/job-schema.json, and the tables of docs/job-file.md
.PHONY: docs-tables
docs-tables: all
	$(Q)$(BUILD)/voltmill job --schema >$(BUILD)/job-schema.json && cp $(BUILD)/job-schema.json docs/job-schema.json
	$(Q)tests/tools/docs-tables docs/job-schema.json docs/job-file.md >$(BUILD)/job-file.md
	$(Q)cp $(BUILD)/job-file.md docs/job-file.md

# What is ours alone under PREFIX; files of others lie beside the first three.
INSTALLED_FILES = bin/voltmill share/man/man1/voltmill.1 share/bash-completion/completions/voltmill
INSTALLED_FOLDERS = share/voltmill share/doc/voltmill

## install: copy program, Python module, man page, completion, documents, jobs, scripts under PREFIX (/usr/local); DESTDIR
.PHONY: install
install: all
	install -D -m 755 $(BUILD)/voltmill $(DESTDIR)$(PREFIX)/bin/voltmill
	install -D -m 644 docs/voltmill.1 $(DESTDIR)$(PREFIX)/share/man/man1/voltmill.1
	install -D -m 644 docs/voltmill.bash $(DESTDIR)$(PREFIX)/share/bash-completion/completions/voltmill
	install -d $(addprefix $(DESTDIR)$(PREFIX)/share/,$(addprefix voltmill/,jobs slurm engines python/voltmill data/samples \
	  tests/tools tests/clients/mocks) doc/voltmill/docs/guides)
	install -m 644 data/samples/*.yaml $(DESTDIR)$(PREFIX)/share/voltmill/data/samples
	install -m 755 tests/tools/practice $(DESTDIR)$(PREFIX)/share/voltmill/tests/tools
	install -m 644 tests/clients/mocks/*.py $(DESTDIR)$(PREFIX)/share/voltmill/tests/clients/mocks
	install -m 644 jobs/*.yaml $(DESTDIR)$(PREFIX)/share/voltmill/jobs
	install -m 755 slurm/* $(DESTDIR)$(PREFIX)/share/voltmill/slurm
	install -m 644 engines/* $(DESTDIR)$(PREFIX)/share/voltmill/engines
	install -m 644 python/voltmill/*.py python/voltmill/py.typed $(DESTDIR)$(PREFIX)/share/voltmill/python/voltmill
	install -m 644 README.md CHANGELOG.md $(DESTDIR)$(PREFIX)/share/doc/voltmill
	install -m 644 docs/*.md docs/*.png docs/*.json $(DESTDIR)$(PREFIX)/share/doc/voltmill/docs
	install -m 644 docs/guides/* $(DESTDIR)$(PREFIX)/share/doc/voltmill/docs/guides

## uninstall: remove what install has copied under PREFIX
.PHONY: uninstall
uninstall:
	rm -f $(INSTALLED_FILES:%=$(DESTDIR)$(PREFIX)/%)
	rm -rf $(INSTALLED_FOLDERS:%=$(DESTDIR)$(PREFIX)/%)

## deb: a Debian package of what is in the tree, in build/deb; wants debhelper
.PHONY: deb
deb:
	$(Q)packaging/deb $(CURDIR)/build/deb

## site: README.md and docs/ as a site, build/site/html/index.html, by mkdocs-material from PyPI in build/site/venv
.PHONY: site
site:
	$(Q)packaging/site $(CURDIR)/build/site
	$(Q)echo build/site/html/index.html

## print-VAR: print a variable of this Makefile
print-%:
	@echo '$*=$($*)'

## clean: remove everything that was built
.PHONY: clean
clean:
	rm -rf build

## help: this list
.PHONY: help
help:
	@sed -n 's/^## //p' $(MAKEFILE_LIST) | awk -F': ' '{ printf "  %-15s %s\n", $$1, $$2 }'

-include $(OBJECTS:.o=.d) $(BUILD)/src/main.d $(wildcard $(BUILD)/tests/*/*.d)
