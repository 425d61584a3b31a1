test_coherency.o: tests/unit/test_coherency.c \
 tests/unit/channelise_bench.h src/base/memory.h src/base/status.h \
 src/base/report.h src/compute/agreement.h src/base/terms.h \
 src/compute/channelise.h src/compute/backend.h src/base/text.h \
 src/compute/shared/samples.h src/dsp/fir/prototype.h
tests/unit/channelise_bench.h:
src/base/memory.h:
src/base/status.h:
src/base/report.h:
src/compute/agreement.h:
src/base/terms.h:
src/compute/channelise.h:
src/compute/backend.h:
src/base/text.h:
src/compute/shared/samples.h:
src/dsp/fir/prototype.h:
