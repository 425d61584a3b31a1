test_stokes.o: tests/unit/test_stokes.c src/base/memory.h \
 src/base/status.h src/base/report.h src/compute/channelise.h \
 src/compute/backend.h src/base/terms.h src/base/text.h \
 src/compute/shared/samples.h src/dsp/fir/prototype.h src/dsp/stokes.h
src/base/memory.h:
src/base/status.h:
src/base/report.h:
src/compute/channelise.h:
src/compute/backend.h:
src/base/terms.h:
src/base/text.h:
src/compute/shared/samples.h:
src/dsp/fir/prototype.h:
src/dsp/stokes.h:
