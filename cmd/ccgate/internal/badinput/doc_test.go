// Package badinput holds the acceptance tests of ccgate against bad input: registries that
// break, streams that lie, archives and object files made to confuse, caches and outputs
// that fail. Each test is named after a numbered group of the list that ccgate was designed
// against, and works on the product as a user has it: arguments, exit status, messages, and
// for inspect --format json the facts.
//
// # Time
//
// Servers are reached over pipes in memory, in a bubble of testing/synctest where a test
// makes the product wait: its real patience, minutes of it, takes no time. The schedule of
// the waits themselves is tested with a fake clock in package inspect/registry.
//
// # What is not here
//
// A case of a group that has no test in this package, and why:
//
//	15  configuration missing or      refused with status 3 in place of a note: without one the platform
//	    not JSON                      is not known, no runtime starts the image, and nothing may pass
//	23  ISIZE of more than 4 GiB      inspect/inflate sets the counter of a stream close to its end
//	24  quine                         one level of compression is undone, so it is the same as gzip in gzip
//	34  socket                        the tar formats have no type for it; types that are unknown are tested
//	35  3 million files               100 000 here, with the bound on what each may take
//	40  static and zip archives       only packages are listed as not looked into; README.md, "Limits"
//	41  owned by root                 a directory that even root cannot write to is; permissions do not hold for root
//	41  disk full                     cannot be had without mounting; writing fails as in that directory
//	43  waivers, regular expressions  there are none yet; globs are matched in polynomial time
//	44  Windows code page             the output is UTF-8, whatever the console; Windows is not run by the tests
//	45  Markdown, HTML                there are no such formats yet; text and JSON are tested
//	46  SIGKILL, OOM-kill             `corpus kill`, on a real image
//	46  partial SARIF                 there is no such format yet; text and JSON are tested
//	47  clock wrong                   no verdict depends on the date yet
//	48  cgroup limits                 the Go runtime takes the number of CPUs from the cgroup; memory is bounded
//	                                  by construction (measured by the benchmark of the corpus)
//
// Three large cases are left out under the race detector, which takes minutes for them.
package badinput
