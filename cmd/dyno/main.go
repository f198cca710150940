// Command dyno loads a database server, watches it, finds what holds it back, fixes that and proves it.
package main

func main() {}
