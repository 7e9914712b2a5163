// Package sim runs whole worlds in fake time: an engine, appenders, and two
// workers that read its stream into two sinks, under faults drawn from a seed.
// Some events cannot be applied until a fix, which reaches workers and targets
// at different times; redrivers try, some of them too early, and an operator
// ends what is left. A checker that shares no code with the product then judges
// what happened.
//
// The life of a world:
//
//	seed -> Plan -> faults, appends, -> quiet -> applied or ---> fix and --> everything -> drained
//	                poison, redrives      |      on record      redrive      applied        |
//	                                      |         |              |            |           v
//	                                      +- bound -+              +-- bound ---+   Evidence -> Check
//
// Evidence is what the engine committed, when it was asked, the queue, and the
// log of the sink in memory: no counter, log line or state of the product is taken for
// true. Every wait is a function of the seed, and the workers go through the
// real SDK clients. A frozen worker is one whose calls stand still; its timers
// run on, as behind a broken network.
//
// Every rule of the checker is tried against a fabricated history that breaks
// it, and the whole against workers that are broken on purpose (see Tamper).
//
// It must be run inside a testing/synctest bubble, and never judges by the wall
// clock.
package sim
