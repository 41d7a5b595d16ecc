#include "cli/command.h"

int main(int argc, char** argv) { return vramplan::run_app(argc, argv); }
