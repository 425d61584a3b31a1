# voltmill: grinds archived telescope voltages into spectra. `make help` lists the targets.
.SUFFIXES:
.DELETE_ON_ERROR:

CC ?= gcc
CFLAGS ?= -O3 -g
PREFIX ?= /usr/local
SANITIZE ?=
WERROR ?=
PKG_CONFIG ?= pkg-config
PYTHON ?= /usr/bin/python3
# Which pkg-config modules hold MPI and parallel HDF5; Debian's names come first.
MPI_MODULE ?= $(firstword $(foreach m,ompi-c mpich,$(if $(shell $(PKG_CONFIG) --exists $(m) 2>/dev/null && echo y),$(m))))
HDF5_MODULE ?= $(firstword $(foreach m,hdf5-openmpi hdf5-mpi hdf5,$(if $(shell $(PKG_CONFIG) --exists $(m) 2>/dev/null && echo y),$(m))))
MODULES = $(MPI_MODULE) $(HDF5_MODULE) libcyaml yaml-0.1 fftw3 fftw3f
# -isystem: our warnings are about our code.
LIB_CFLAGS ?= $(patsubst -I%,-isystem %,$(shell $(PKG_CONFIG) --cflags $(MODULES) 2>/dev/null))
LIB_LIBS ?= -lhdf5_hl $(shell $(PKG_CONFIG) --libs $(MODULES) 2>/dev/null) -lm

WARNINGS = -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wstrict-prototypes -Wmissing-prototypes \
           -Wvla -Wundef -Wwrite-strings $(if $(WERROR),-Werror)
comma := ,
FLAVOUR := $(if $(SANITIZE),$(subst $(comma),-,$(SANITIZE)),release)
BUILD ?= build/$(FLAVOUR)
VERSION := $(shell cat VERSION)
ALL_CFLAGS = -std=c11 -D_GNU_SOURCE -DVOLTMILL_VERSION='"$(VERSION)"' -Isrc $(WARNINGS) -fopenmp \
             -fno-math-errno -ffp-contract=off $(CFLAGS) $(LIB_CFLAGS) \
             $(if $(SANITIZE),-fsanitize=$(SANITIZE) -fno-omit-frame-pointer -fno-sanitize-recover=all)
ALL_LDFLAGS = -fopenmp -pthread $(LDFLAGS) $(if $(SANITIZE),-fsanitize=$(SANITIZE))

SOURCES := $(sort $(wildcard src/*/*.c src/*/*/*.c))
OBJECTS := $(SOURCES:%.c=$(BUILD)/%.o)
TEST_SOURCES := $(sort $(wildcard tests/unit/test_*.c tests/mpi/test_*.c))
TEST_PROGRAMS := $(TEST_SOURCES:%.c=$(BUILD)/%)

Q := $(if $(V),,@)
say = $(if $(V),,@printf '  %-4s %s\n' $(1) $(patsubst $(BUILD)/%,%,$@);)

## all: build the program, build/release/voltmill
.PHONY: all
all: $(BUILD)/voltmill

$(BUILD)/voltmill: $(BUILD)/src/main.o $(BUILD)/libvoltmill.a
	$(call say,LD)$(CC) $(ALL_LDFLAGS) -o $@ $^ $(LIB_LIBS)

$(BUILD)/libvoltmill.a: $(OBJECTS)
	$(call say,AR)rm -f $@ && $(AR) rcs $@ $^

$(BUILD)/%.o: %.c Makefile VERSION
	$(if $(wildcard $(@D)),,$(Q)mkdir -p $(@D))
	$(call say,CC)$(CC) $(ALL_CFLAGS) -MMD -MP -c -o $@ $<

$(BUILD)/tests/%: $(BUILD)/tests/%.o $(BUILD)/libvoltmill.a
	$(call say,LD)$(CC) $(ALL_LDFLAGS) -o $@ $^ $(LIB_LIBS) -lcmocka

.PRECIOUS: $(BUILD)/%.o

## deps: install what is missing to build and test (Debian, Ubuntu); elsewhere name the packages
.PHONY: deps
deps:
	$(Q)tests/tools/deps

## test-programs: build the programs that the tests run
.PHONY: test-programs
test-programs: $(TEST_PROGRAMS)

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

-include $(OBJECTS:.o=.d) $(BUILD)/src/main.d $(TEST_PROGRAMS:=.d)
