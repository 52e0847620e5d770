// Package register owns what a member of a ring knows of who took which
// occurrence, and the protocol by which one is claimed. It is a value without
// I/O: calls come in, answers, words for the others and news go out.
//
// # How an occurrence is claimed
//
// A member that claims an occurrence asks all other live members, also if it owns
// it: Ask, and Hear for each answer or silence. A member that is asked refuses, with what it knows, if it knows the
// occurrence as taken, or claims it itself at this time under a lower ID; under
// a higher one it gives way, which costs it its own claim. Else it grants, and
// remembers who asked. It is granted to whoever nobody refuses: who does not
// answer refuses nothing, as two runs on both sides of a cut are better than
// none.
//
// So two members that hear each other are never granted the same occurrence. Let
// two win, and let one have answered the other's request before it claimed the
// occurrence itself, as it must, or it would have refused or given way. It asks the
// first one then, which was claiming when it asked, refuses from then on, by its lower ID or by
// having won, or has given way. And one of them is granted it: a claim fails by
// one that took the occurrence, or by the claim of a lower ID, of which one is
// the lowest.
//
// # Generations
//
// What a member took that is gone since is claimed again, in the next
// generation. Such a claim says how far it believes the occurrence to be; who
// knows that it is further refuses with that. Of two marks of an occurrence that
// of the higher generation holds.
//
// A member that leaves tells all others its final state, and is gone for them.
//
// Who was gone for a while and has what it took still before it asks whether it
// still has it. Claims under way give way to that; only what was taken again
// meanwhile stands against it.
//
// # Doubles
//
// Who did not see each other may both have taken an occurrence. As soon as they
// learn of it, the one that has not begun lets it go (of two the higher ID), and
// if both have begun, both say so: News.
package register
