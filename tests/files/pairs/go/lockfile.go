// A register that one process at a time may change: the file LOCK says who is there.
package main

import (
	"fmt"
	"os"
	"syscall"
)

func lock() *os.File {
	flags := os.O_RDWR | os.O_CREATE | os.O_EXCL
	if mended {
		flags = os.O_RDWR | os.O_CREATE
	}
	file, err := os.OpenFile("LOCK", flags, 0644)
	need(err)
	if mended {
		need(syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB))
	}
	return file
}

func unlock(file *os.File) {
	if !mended {
		need(os.Remove("LOCK"))
	}
	file.Close()
}

func save(text string) {
	file, err := os.Create("register.tmp")
	need(err)
	_, err = file.WriteString(text)
	need(err)
	need(file.Sync())
	need(file.Close())
	need(os.Rename("register.tmp", "register"))
	syncFolder(".")
}

func main() {
	switch enter() {
	case "setup":
		save("1\n")
	case "run":
		file := lock()
		save("2\n")
		acknowledge("2")
		save("3\n")
		acknowledge("3")
		unlock(file)
	case "check":
		unlock(lock())
		read("register")
	case "dump":
		fmt.Print(read("register"))
	}
}
