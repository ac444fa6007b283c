// expect: compile-error
// kind: compile
// says: not one plain function
extern "C" int solve = 3;
