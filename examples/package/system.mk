# The system that CC compiles for. The Makefiles of the repository and of a release include this file after they have
# defined CC.

MACHINE := $(shell $(CC) -dumpmachine 2> /dev/null)
WINDOWS := $(filter %-mingw32 %-windows-gnu,$(MACHINE))
MACOS   := $(strip $(foreach name,-darwin -macos,$(findstring $(name),$(MACHINE))))
LIBDL   := $(if $(findstring -linux,$(MACHINE)),-ldl)
EXE     := $(if $(WINDOWS),.exe)
comma   := ,
