// expect: compile-error
// kind: compile
// says: no function solve
// Somebody has still to begin.
