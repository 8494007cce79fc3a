// The small programs share this. Each takes the words setup, run, check or dump, and a folder.
package main

import (
	"fmt"
	"os"
)

// The twin runs with this variable.
var mended = os.Getenv("MENDED") != ""

// need ends the program with status 1.
func need(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func require(holds bool, what string) {
	if !holds {
		need(fmt.Errorf("%s", what))
	}
}

// enter goes to the folder, which setup makes, and returns the first word.
func enter() string {
	if os.Args[1] == "setup" {
		need(os.MkdirAll(os.Args[2], 0755))
	}
	need(os.Chdir(os.Args[2]))
	return os.Args[1]
}

func syncFolder(path string) {
	folder, err := os.Open(path)
	need(err)
	need(folder.Sync())
	folder.Close()
}

func read(path string) string {
	data, err := os.ReadFile(path)
	need(err)
	return string(data)
}

// acknowledge says that the operation is promised to the user.
func acknowledge(what string) { fmt.Println("done", what) }
