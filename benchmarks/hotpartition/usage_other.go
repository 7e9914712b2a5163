//go:build !unix

package main

import "time"

// processTime is not known here, and so absent from the results.
func processTime() (time.Duration, bool) { return 0, false }
