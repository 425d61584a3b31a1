test_combine.o: tests/unit/test_combine.c src/pipeline/finish/combine.h \
 src/dsp/stokes.h src/base/terms.h
src/pipeline/finish/combine.h:
src/dsp/stokes.h:
src/base/terms.h:
