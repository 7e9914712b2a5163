// Package ordersview is the read model of the orders example: what an order's
// page in a shop shows, and a digest of the history behind it.
package ordersview
