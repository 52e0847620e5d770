// Package holders owns the table of the ring members that hold occurrences, as far as one member
// knows, and the protocol by which an occurrence is claimed. It performs no I/O: the methods return
// answers, messages for the other members, and Changes.
//
// # How an occurrence is claimed
//
// A member that claims an occurrence sends a question to all other live members,
// even if it is the owner: see Ask. It passes each answer, or the lack of one, to
// Receive. The other member decides:
//
//   - If the occurrence is already taken, it refuses and sends the mark.
//   - If it is claiming the occurrence too and has the lower ID, it refuses.
//   - If it does not see the claimant, it would not send its own claims to it. So
//     the claim must be repeated later, unless the member cannot claim the
//     occurrence itself. Package gossip decides that: see Postpone. A member that
//     has just joined may have granted such a claim before: see AskedBy.
//   - If it is claiming the occurrence too and has the higher ID, it gives way:
//     it grants the claim, and its own claim fails.
//   - Otherwise it grants the claim, and remembers the claimant.
//
// A claim succeeds if no member refuses it. A member that does not answer does
// not block a claim, because two runs, one on each side of a network partition,
// are better than none.
//
// Therefore two members that can reach each other are never granted the same
// occurrence. Suppose that A and B were both granted it. One of them, say B, must
// have answered A's question before B began its own claim; otherwise B would have
// refused or given way. B saw A then, so it sent its own question to A, too. A was
// already claiming when it sent its question. So when B's question arrives, A
// refuses it, because A has the lower ID or has already won, or A gives way and
// loses its own claim.
//
// One of the claimants always succeeds, or repeats its claim: a claim fails only
// if another member has taken the occurrence, or if a member with a lower ID claims
// it too, and one of the claimants has the lowest ID.
//
// # Generations
//
// If a member took an occurrence and died, the occurrence is claimed again in the
// next generation. Such a claim contains the last known phase of the occurrence.
// A member that knows of a later phase refuses the claim and sends that phase. Of
// two marks of an occurrence, the mark of the higher generation is valid, unless
// only the other one says that the occurrence is over. A report ends a claim under
// way if it is a reason to refuse that claim.
//
// A member that leaves sends its final state to all others, which then treat it
// as dead. The marks of occurrences that it gave up say that it never begins
// them. They also count for a member that receives them from another one, and
// lose against marks of live members of the same generation. A member that could
// not start an occurrence gives it up in the same way, and stays. Members that
// gave an occurrence up do not claim it to run it. Such a member keeps its mark
// even if another member takes the occurrence. A third member may have an older
// mark of it, from before it gave up, and only the kept mark replaces that one.
//
// A member that was away for a while, and holds occurrences that it took before,
// checks with the others whether it still holds them. Claims under way give way to
// this question; it is refused only if another member has taken the occurrence
// meanwhile.
//
// # Doubles
//
// Two members that did not see each other may both have taken an occurrence. When
// they find out and only one run has begun, the other member gives the occurrence
// up. If no run has begun, the member with the higher ID gives it up. If both runs
// have begun, both members report it: see Changes. If one of them took it over
// from the other, only the other one knows whether its run was lost. Therefore the
// member that finds a double sends its own mark to the other one: see LearnDoubles.
package holders
