// Package display owns the forms in which programs show text, times and sizes to people: foreign text
// (names, commands, output of jobs) without characters that could control a terminal, and measured in
// cells; durations and times in few cells; numbers of bytes and of things; clauses and sentences;
// words that a shell reads as one.
//
// Functions with an Append form can be used without allocating, because a dashboard
// draws a screenful of them at each key.
package display
